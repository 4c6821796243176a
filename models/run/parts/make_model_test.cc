#include "models/run/parts/make_model.h"

#include <string>

#include "comm/ranks/job/exit_code.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

RunOptions Freezing(const std::string& patterns) {
  RunOptions options;
  options.network.name = "simplecnn";
  options.network.freeze = patterns;
  return options;
}

TEST(MakeModelTest, PatternsAddUp) {
  EXPECT_EQ(MakeModel(Freezing(""), {})->num_trainable_parameters(), 101958);
  EXPECT_EQ(MakeModel(Freezing("*Conv2D,5_FC"), {})->num_trainable_parameters(), 1290);
}

TEST(MakeModelTest, AnUnknownLayerIsWrongUsageAndTheNearestIsNamed) {
  const auto error = [](const std::string& patterns) {
    const absl::Status status = MakeModel(Freezing(patterns), {}).status();
    EXPECT_EQ(ExitCodeOf(status), kExitUsage);
    return std::string(status.message());
  };
  EXPECT_THAT(
      error("1-2,5_Fc"),
      AllOf(HasSubstr(
                "RunOptions::network.freeze: \"5_Fc\" matches no layer with parameters of model "
                "simplecnn; it has 4, \"1_Conv2D\" to \"8_FC\""),
            HasSubstr("; did you mean \"5_FC\"?")));
  EXPECT_THAT(error("*Pool*"), Not(HasSubstr("did you mean")));
  EXPECT_THAT(error("1-5,8"), HasSubstr("RunOptions::network.freeze: \"8\" leaves no parameter"));
}

}  // namespace
}  // namespace dtnn
