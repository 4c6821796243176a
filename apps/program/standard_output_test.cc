// Every program, where its standard output cannot be written: exit code 1 and one line; no line,
// and the exit code of SIGPIPE, where its reader wants no more.

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <string>

#include "apps/testing/process.h"
#include "data/testing/idx_files.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

using testing::Launch;
using testing::NewFolder;
using testing::Outcome;

class StandardOutputTest : public ::testing::TestWithParam<const char*> {
 protected:
  // `redirection` is the shell's.
  static void ExpectOneLine(const std::string& redirection) {
    const std::string command = GetParam();
    const Outcome outcome = Launch(command, "2>&1 " + redirection);
    const std::string program = command.substr(0, command.find(' '));
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_EQ(outcome.text, program.substr(program.rfind('/') + 1) +
                                ": cannot write to the standard output; is the disk full?\n");
  }
};

TEST_P(StandardOutputTest, AFullDiskIsAFailure) { ExpectOneLine(">/dev/full"); }

TEST_P(StandardOutputTest, AReaderThatHasExitedEndsItInSilence) {
  const std::string pipe = NewFolder("pipe") + "/pipe";
  // Descriptor 3 is a reader for as long as it takes to open the other end.
  const std::string before = "mkfifo " + pipe + "; exec 3<>" + pipe + " 4>" + pipe + " 3<&-; ";
  const Outcome outcome = Launch(before + GetParam(), "2>&1 >&4 4>&-");
  EXPECT_EQ(outcome.exit_code, 128 + SIGPIPE);
  EXPECT_EQ(outcome.text, "");
}

TEST_P(StandardOutputTest, NoOutputAtAllIsAFailure) { ExpectOneLine(">&-"); }

INSTANTIATE_TEST_SUITE_P(
    Programs, StandardOutputTest,
    ::testing::Values("apps/benchmark --help", "apps/benchmark --model=list",
                      "apps/predict/predict --model=list", "apps/serve/serve --help",
                      "apps/inspect/inspect --help", "apps/quantize/quantize --calibrate=list",
                      "apps/report/report --help", "apps/best_of/best_of --help",
                      "apps/predict/predict --help=man",
                      "apps/check_dataset/check_dataset --dataset=synthetic",
                      "apps/convert_imagenet/convert_imagenet --help",
                      "apps/scale_model/scale_model --model=list",
                      "apps/aggregator/aggregator --help", "apps/export/export --help",
                      "apps/import/import --help", "apps/launch/launch --help",
                      "apps/make_certificates/make_certificates --help",
                      "apps/simulate/simulate --help", "apps/sweep/sweep --help"));

// SIGPIPE does not end it: `head` has gone after the first of its lines.
TEST(ClosedOutputTest, ATrainingWhoseReaderHasExitedSavesAllItsEpochs) {
  const std::string folder = NewFolder("reader");
  const auto train = [&](const std::string& name, const std::string& reader) {
    return Launch(
        "apps/benchmark --model=simplecnn --dataset=synthetic --synthetic-input-shape=1,8,8 "
        "--synthetic-train-samples=50 --batch-size=8 "
        "--num-epochs=3 --save-model=" +
            folder + "/" + name + ".npz --checkpoint-dir=" + folder + "/" + name,
        "2>/dev/null | " + reader);
  };
  EXPECT_EQ(train("whole", "cat >/dev/null").exit_code, 0);
  EXPECT_EQ(train("gone", "head -n 1 >/dev/null").exit_code, 0);  // that of head
  const auto newest = [&](const std::string& name) {
    std::string newest;
    for (const auto& entry : std::filesystem::directory_iterator(folder + "/" + name)) {
      const std::string file = entry.path().filename();
      if (file.ends_with(".npz")) newest = std::max(newest, file);
    }
    return newest;
  };
  EXPECT_NE(newest("whole"), "");
  EXPECT_EQ(newest("gone"), newest("whole"));
  EXPECT_TRUE(std::filesystem::exists(folder + "/gone.npz"));
}

// The lock of the folder is opened first, and stays open: what is printed must not go there.
TEST(ClosedOutputTest, NoFileBecomesTheOutput) {
  const Outcome outcome =
      Launch("apps/benchmark",
             "--model=simplecnn --dataset=synthetic --synthetic-input-shape=1,8,8 "
             "--synthetic-train-samples=50 --batch-size=8 --checkpoint-dir=" +
                 NewFolder("closed") + " 2>&1 >&-");
  EXPECT_EQ(outcome.exit_code, 1) << outcome.text;
}

}  // namespace
}  // namespace dtnn
