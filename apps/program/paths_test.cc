#include "apps/program/paths.h"

#include <stdlib.h>

#include <filesystem>

#include "comm/ranks/job/exit_code.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

TEST(EnterUserDirectoryTest, FollowsBazelRun) {
  const std::filesystem::path start = std::filesystem::current_path();
  const std::filesystem::path there = std::filesystem::canonical(testing::TempDir());
  ASSERT_EQ(unsetenv("BUILD_WORKING_DIRECTORY"), 0);
  EXPECT_TRUE(EnterUserDirectory().ok());
  EXPECT_EQ(std::filesystem::current_path(), start);
  ASSERT_EQ(setenv("BUILD_WORKING_DIRECTORY", there.c_str(), 1), 0);
  EXPECT_TRUE(EnterUserDirectory().ok());
  EXPECT_EQ(std::filesystem::current_path(), there);
  std::filesystem::current_path(start);
}

TEST(EnterUserDirectoryTest, MissingDirectoryIsAnErrorThatNamesIt) {
  ASSERT_EQ(setenv("BUILD_WORKING_DIRECTORY", "/no/such/directory", 1), 0);
  const absl::Status status = EnterUserDirectory();
  EXPECT_EQ(ExitCodeOf(status), kExitFailed);
  EXPECT_NE(status.message().find("/no/such/directory"), absl::string_view::npos);
  ASSERT_EQ(unsetenv("BUILD_WORKING_DIRECTORY"), 0);
}

}  // namespace
}  // namespace dtnn
