#include "comm/ranks/job/exit_code.h"

#include <sstream>

#include "gtest/gtest.h"

namespace dtnn {
namespace {

TEST(ExitCodeTest, FollowsTheStatusAndNotItsAbslCode) {
  EXPECT_EQ(ExitCodeOf(absl::OkStatus()), 0);
  EXPECT_EQ(ExitCodeOf(UsageError("--model: missing")), 2);
  EXPECT_EQ(ExitCodeOf(absl::InvalidArgumentError("corrupt file")), 1);
  EXPECT_EQ(ExitCodeOf(absl::InternalError("bug")), 1);
  EXPECT_EQ(ExitCodeOf(WithExitCode(absl::UnavailableError("rank 3"), kExitPeerLost)), 75);
  EXPECT_EQ(ExitCodeOf(WithExitCode(absl::OkStatus(), 7)), 0);
  EXPECT_EQ(ExitCodeOfSignal(15), 143);
}

TEST(ExitCodeTest, AFileThatAVariableNamesIsNotUsage) {
  EXPECT_EQ(ExitCodeOf(OfEnvironment(absl::InvalidArgumentError("PYMPI_RANK=x"))), 2);
  EXPECT_EQ(ExitCodeOf(OfEnvironment(absl::NotFoundError("x: cannot be opened"))), 1);
  EXPECT_EQ(ExitCodeOf(OfEnvironment(absl::OkStatus())), 0);
}

TEST(ExitCodeTest, SurvivesCopies) {
  const absl::Status original = UsageError("x");
  const absl::Status copy = original;
  EXPECT_EQ(ExitCodeOf(copy), 2);
  EXPECT_TRUE(absl::IsInvalidArgument(copy));
}

TEST(ReportStatusTest, WritesOneLineNamingTheProgram) {
  std::ostringstream out;
  EXPECT_EQ(ReportStatus(UsageError("--a: two\nlines\x1b[31m"), "benchmark", out), 2);
  EXPECT_EQ(out.str(), "benchmark: --a: two\\nlines\\x1b[31m\n");
}

TEST(ReportStatusTest, IsSilentAboutSuccess) {
  std::ostringstream out;
  EXPECT_EQ(ReportStatus(absl::OkStatus(), "benchmark", out), 0);
  EXPECT_EQ(out.str(), "");
}

}  // namespace
}  // namespace dtnn
