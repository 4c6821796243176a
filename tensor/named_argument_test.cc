#include "tensor/named_argument.h"

#include "gtest/gtest.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

constexpr char kArgument[] = "LoadWeights";

TEST(NamedArgumentTest, IsFoundBehindWhatUsersWroteAndBehindContext) {
  const absl::Status status = NamingArgument(
      InvalidArgument("LoadWeights.npz: is not a checkpoint; load it (LoadWeights) instead"),
      kArgument);
  for (const absl::Status& told : {status, WithContext(status, "runs/LoadWeights")}) {
    const std::optional<NamedArgument> found = FindNamedArgument(told);
    ASSERT_TRUE(found.has_value()) << told;
    EXPECT_EQ(found->argument, kArgument);
    EXPECT_EQ(told.message().substr(found->place), "LoadWeights) instead");
  }
}

TEST(NamedArgumentTest, NoneIsFoundInOtherErrors) {
  EXPECT_FALSE(FindNamedArgument(absl::OkStatus()).has_value());
  EXPECT_FALSE(FindNamedArgument(InvalidArgument("LoadWeights.npz: is empty")).has_value());
  // Its message is another one now.
  absl::Status other = InvalidArgument("LoadWeights.npz: is empty");
  NamingArgument(InvalidArgument("use LoadWeights"), kArgument)
      .ForEachPayload([&](absl::string_view url, const absl::Cord& payload) {
        other.SetPayload(url, payload);
      });
  EXPECT_FALSE(FindNamedArgument(other).has_value());
}

}  // namespace
}  // namespace dtnn
