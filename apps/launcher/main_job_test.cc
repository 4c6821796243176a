#include "apps/launcher/main_job.h"

#include <filesystem>

#include "apps/flags/parser.h"
#include "comm/ranks/job/exit_code.h"
#include "data/datasets/mnist.h"
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

TEST(MainJobTest, OnlyPackagedDataIsLookedFor) {
  Options options;
  options.data.name = "synthetic";
  EXPECT_TRUE(CheckPackagedData(options).ok());
  options.data.name = "mnist";
  options.data.path = "/no/such/path";
  EXPECT_TRUE(CheckPackagedData(options).ok());
  options.data.path = "";
  const absl::Status status = CheckPackagedData(options);
  EXPECT_EQ(status.ok(), std::filesystem::is_directory(kFashionMnistPath));
  if (!status.ok()) {
    EXPECT_EQ(ExitCodeOf(status), kExitFailed);
    EXPECT_NE(status.message().find("apt-get install dataset-fashion-mnist"),
              absl::string_view::npos);
  }
}

}  // namespace
}  // namespace dtnn
