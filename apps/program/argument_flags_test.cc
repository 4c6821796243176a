#include "apps/program/argument_flags.h"

#include "apps/flags/option_table.h"
#include "comm/job/exit_code.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

TEST(ArgumentFlagsTest, MessagesNameFlags) {
  EXPECT_EQ(NameFlags("a.png: needs Geometry::resize; Geometry::resize cuts it"),
            "a.png: needs --transform-resize; --transform-resize cuts it");
  EXPECT_EQ(NameFlags("a.png: is empty"), "a.png: is empty");
  EXPECT_EQ(NameFlags("LoadWeights, with LoadWeightsOptions::format"),
            "--weights-and-bias-filename, with --weights-format");
}

TEST(ArgumentFlagsTest, ErrorsStayThemselves) {
  EXPECT_TRUE(NameFlags(absl::OkStatus()).ok());
  const absl::Status named =
      NameFlags(WithExitCode(absl::NotFoundError("choose NpzOptions::format"), kExitPeerLost));
  EXPECT_EQ(named.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(named.message(), "choose --archive-format");
  EXPECT_EQ(ExitCodeOf(named), kExitPeerLost);
}

TEST(ArgumentFlagsTest, AllFlagsExist) {
  for (const auto& [argument, flag] : ArgumentFlags()) {
    ASSERT_TRUE(flag.starts_with("--")) << argument;
    EXPECT_NE(FindOption(flag.substr(2, flag.find('=') - 2)), nullptr) << flag;
  }
}

}  // namespace
}  // namespace dtnn
