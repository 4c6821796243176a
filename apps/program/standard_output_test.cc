// Every program, where its standard output cannot be written: exit code 1 and one line.

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
  // `before` and `redirection` are the shell's.
  static void ExpectOneLine(const std::string& redirection, const std::string& before = "") {
    const std::string command = GetParam();
    const Outcome outcome = Launch(before + command, "2>&1 " + redirection);
    const std::string program = command.substr(0, command.find(' '));
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_EQ(outcome.text, program.substr(program.rfind('/') + 1) +
                                ": cannot write to the standard output; is the disk full, or has "
                                "the program that reads it exited?\n");
  }
};

TEST_P(StandardOutputTest, AFullDiskIsAFailure) { ExpectOneLine(">/dev/full"); }

TEST_P(StandardOutputTest, AReaderThatHasEndedIsAFailure) {
  const std::string pipe = NewFolder("pipe") + "/pipe";
  // Descriptor 3 is a reader for as long as it takes to open the other end.
  ExpectOneLine(">&4 4>&-", "mkfifo " + pipe + "; exec 3<>" + pipe + " 4>" + pipe + " 3<&-; ");
}

TEST_P(StandardOutputTest, NoOutputAtAllIsAFailure) { ExpectOneLine(">&-"); }

INSTANTIATE_TEST_SUITE_P(Programs, StandardOutputTest,
                         ::testing::Values("apps/benchmark --help", "apps/benchmark --model=list",
                                           "apps/predict/predict --model=list",
                                           "apps/inspect/inspect --help",
                                           "apps/check_dataset/check_dataset --dataset=synthetic",
                                           "apps/convert_imagenet/convert_imagenet --help",
                                           "apps/scale_model/scale_model --model=list"));

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
