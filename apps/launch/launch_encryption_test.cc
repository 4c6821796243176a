// Training with ranks that encrypt what they sum.

#include <cstdlib>
#include <string>
#include <vector>

#include "apps/testing/launch_job.h"
#include "apps/testing/process.h"
#include "apps/testing/texts.h"
#include "comm/ranks/job/exit_code.h"
#include "data/testing/idx_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/files/access/private_file.h"
#include "tensor/must.h"

namespace dtnn {
namespace {

using testing::Arguments;
using testing::Contents;
using ::testing::HasSubstr;
using testing::kLaunch;
using testing::NewFolder;
using testing::Numbers;
using testing::Outcome;
using testing::Process;
using testing::Ranks;
using testing::SmallRun;
using testing::With;

const Arguments kRun = With(SmallRun(101), {"--dtype=float32", "--learning-rate=0.05",
                                            "--schedulers=", "--batch-size=4", "--num-epochs=3"});

Arguments Encrypted(const std::string& key) {
  return {"--encryption=tenseal", "--encryption-key-file=" + key};
}

Outcome RunJob(int ranks, const Arguments& arguments) {
  return Process(kLaunch, Ranks(ranks, arguments)).Wait();
}

class LaunchEncryptionTest : public ::testing::Test {
 protected:
  LaunchEncryptionTest() : folder_(NewFolder("encrypted")) {
    for (const char* name : {"key.0", "key.1"}) {
      Must(WritePrivateFile(folder_ + "/" + name,
                            std::string("a key that nobody else has: 0123456789abcdef ") + name));
    }
  }

  std::vector<double> History(int ranks, const Arguments& run) {
    const std::string file = folder_ + "/history.csv";
    const Outcome outcome = RunJob(ranks, With(run, {"--history-file=" + file}));
    EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
    EXPECT_THAT(outcome.text, HasSubstr("**** Done..."));
    return Numbers(Contents(file));
  }

  const std::string folder_;
};

TEST_F(LaunchEncryptionTest, TheSameIsLearntAsWithout) {
  for (const char* exchange : {"--model-sync-freq=0", "--model-sync-freq=2"}) {
    for (const int ranks : {2, 4}) {
      SCOPED_TRACE(std::string(exchange) + ", " + std::to_string(ranks) + " ranks");
      const Arguments run = With(kRun, {exchange});
      const std::vector<double> plain = History(ranks, run);
      const std::vector<double> encrypted =
          History(ranks, With(run, Encrypted(folder_ + "/key.0")));
      ASSERT_GE(plain.size(), 3 * 3u);
      ASSERT_EQ(encrypted.size(), plain.size());
      for (size_t i = 0; i < plain.size(); ++i) {
        EXPECT_NEAR(encrypted[i], plain[i], 1e-4) << i;
      }
    }
  }
}

TEST_F(LaunchEncryptionTest, TheServerOfRankZeroCarriesIt) {
  setenv("PYMPI_PROTO", "grpc", 1);
  const std::vector<double> plain = History(3, kRun);
  const std::vector<double> encrypted = History(3, With(kRun, Encrypted(folder_ + "/key.0")));
  unsetenv("PYMPI_PROTO");
  ASSERT_EQ(encrypted.size(), plain.size());
  for (size_t i = 0; i < plain.size(); ++i) EXPECT_NEAR(encrypted[i], plain[i], 1e-4) << i;
}

TEST_F(LaunchEncryptionTest, ARunIsResumed) {
  const Arguments run = With(With(kRun, Encrypted(folder_ + "/key.0")),
                             {"--checkpoint-dir=" + folder_ + "/checkpoints"});
  EXPECT_EQ(RunJob(2, run).exit_code, 0);
  const Outcome resumed = RunJob(2, With(run, {"--resume", "--num-epochs=5"}));
  EXPECT_EQ(resumed.exit_code, 0) << resumed.text;
  EXPECT_THAT(resumed.text, HasSubstr("Epoch 5/5"));
}

TEST_F(LaunchEncryptionTest, AnotherKeyIsNamed) {
  const Outcome outcome =
      RunJob(2, With(With(kRun, Encrypted(folder_ + "/key.$rank")), {"--noshared-storage"}));
  EXPECT_EQ(outcome.exit_code, kExitUsage) << outcome.text;
  EXPECT_THAT(outcome.text, HasSubstr("--encryption=tenseal with --encryption-key-file"));
  EXPECT_THAT(outcome.text, HasSubstr("rank 1 has another key than rank 0"));
}

TEST_F(LaunchEncryptionTest, AMissingKeyIsNamed) {
  const Outcome outcome =
      RunJob(2, With(With(kRun, Encrypted(folder_ + "/nokey.$rank")), {"--noshared-storage"}));
  EXPECT_EQ(outcome.exit_code, kExitFailed) << outcome.text;
  EXPECT_THAT(outcome.text, HasSubstr("--encryption-key-file: "));
  EXPECT_THAT(outcome.text, HasSubstr("/nokey.0"));
}

// Gradients that no ciphertext takes, while the loss is still a number.
TEST_F(LaunchEncryptionTest, WhatDivergesEndsAllRanks) {
  const Outcome outcome = RunJob(2, With(With(kRun, Encrypted(folder_ + "/key.0")),
                                         {"--learning-rate=1e4", "--optimizer-momentum=0.9"}));
  EXPECT_EQ(outcome.exit_code, kExitFailed) << outcome.text;
  EXPECT_THAT(outcome.text, HasSubstr("encrypted sum: rank "));
  EXPECT_THAT(outcome.text, HasSubstr("training has diverged"));
}

}  // namespace
}  // namespace dtnn
