#include "apps/launcher/main_job.h"

#include "apps/flags/parser.h"
#include "comm/ranks/job/exit_code.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

TEST(MainJobTest, IsAValidCommandLineWithoutWarnings) {
  const absl::StatusOr<CommandLine> job = ParseFlags(MainJobArguments());
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_TRUE(job->warnings.empty());
  EXPECT_EQ(job->options.network.name, "simplecnn");
  EXPECT_EQ(job->options.training.epochs, 5);
  EXPECT_EQ(job->options.optimizer.beta1, 0.9);
  EXPECT_TRUE(job->options.training.evaluate);
}

TEST(MainJobTest, NoticeShowsEveryFlag) {
  const std::string notice = MainJobNotice("benchmark");
  for (const std::string& argument : MainJobArguments()) {
    EXPECT_NE(notice.find(argument), notice.npos) << argument;
  }
}

TEST(MainJobTest, OnlyPackagedDataIsMissed) {
  Options options;
  options.data.name = "synthetic";
  EXPECT_EQ(CheckPackagedData(options, false), absl::OkStatus());
  options.data.name = "mnist";
  options.data.path = "/no/such/path";
  EXPECT_EQ(CheckPackagedData(options, false), absl::OkStatus());
  options.data.path = "";
  EXPECT_EQ(CheckPackagedData(options, true), absl::OkStatus());
  const absl::Status status = CheckPackagedData(options, false);
  EXPECT_EQ(ExitCodeOf(status), kExitFailed);
  EXPECT_EQ(status.message(),
            "/usr/share/datasets/fashion-mnist: Fashion-MNIST is not installed; install it with: "
            "sudo apt-get install dataset-fashion-mnist, or name other data with --dataset-path");
}

}  // namespace
}  // namespace dtnn
