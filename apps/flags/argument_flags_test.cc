#include "apps/flags/argument_flags.h"

#include <set>
#include <variant>

#include "apps/flags/option_table.h"
#include "comm/ranks/job/exit_code.h"
#include "gtest/gtest.h"
#include "tensor/errors.h"
#include "tensor/named_argument.h"

namespace dtnn {
namespace {

absl::Status Naming(std::string_view argument, const std::string& message) {
  return NamingArgument(absl::NotFoundError(message), argument);
}

TEST(ArgumentFlagsTest, EachArgumentBecomesItsFlag) {
  for (const auto& [argument, flag] : ArgumentFlags()) {
    const std::string before = "a.png: needs ", after = ", to be read";
    EXPECT_EQ(NameFlags(Naming(argument, StrCat(before, argument, after))).message(),
              StrCat(before, flag, after));
  }
}

TEST(ArgumentFlagsTest, WordsOfUsersStay) {
  const absl::Status missing = absl::NotFoundError("runs/LoadWeights-old.npz: is missing");
  EXPECT_EQ(NameFlags(missing), missing);
  EXPECT_EQ(
      NameFlags(Naming("LoadWeights", "LoadWeights.npz: load it (LoadWeights) again")).message(),
      "LoadWeights.npz: load it (--weights-and-bias-filename) again");
  EXPECT_EQ(
      NameFlags(WithContext(Naming("LoadWeights", "use LoadWeights"), "LoadWeights")).message(),
      "LoadWeights: use --weights-and-bias-filename");
}

TEST(ArgumentFlagsTest, ErrorsStayThemselves) {
  EXPECT_TRUE(NameFlags(absl::OkStatus()).ok());
  const absl::Status named = NameFlags(
      WithExitCode(Naming("NpzOptions::format", "choose NpzOptions::format"), kExitPeerLost));
  EXPECT_EQ(named.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(named.message(), "choose --archive-format");
  EXPECT_EQ(ExitCodeOf(named), kExitPeerLost);
}

TEST(ArgumentFlagsTest, MembersOfRunOptionsBecomeFlags) {
  EXPECT_EQ(NameFlags("RunOptions::training.epochs=-1: see RunOptions::data.augment.flip."),
            "--num-epochs=-1: see --augment-flip.");
  EXPECT_EQ(NameFlags("Run::Needs shows more (ZooModels lists all)"),
            "--dry-run shows more (--model=list lists all)");
  EXPECT_EQ(NameFlags("RunOptions::training.moon, RunOptions::"),
            "RunOptions::training.moon, RunOptions::");
  const absl::Status status =
      NameFlags(WithExitCode(absl::NotFoundError("RunOptions::output.model=a: no"), kExitPeerLost));
  EXPECT_EQ(status.message(), "--save-model=a: no");
  EXPECT_EQ(ExitCodeOf(status), kExitPeerLost);
}

TEST(ArgumentFlagsTest, EachMemberHasOneFlag) {
  std::set<std::string_view> paths;
  for (const OptionSpec& spec : OptionTable()) {
    if (spec.field.load == nullptr) continue;
    EXPECT_FALSE(spec.path.empty()) << spec.name;
    EXPECT_TRUE(paths.insert(spec.path).second) << spec.path;
  }
}

TEST(ArgumentFlagsTest, AllFlagsExist) {
  for (const auto& [argument, flag] : ArgumentFlags()) {
    ASSERT_TRUE(flag.starts_with("--")) << argument;
    EXPECT_NE(FindOption(flag.substr(2, flag.find('=') - 2)), nullptr) << flag;
  }
}

}  // namespace
}  // namespace dtnn
