#include "optim/losses/losses.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

TEST(LossesTest, EveryNameMakesTheLossOfThatName) {
  EXPECT_EQ(LossNames().size(), 4);
  for (std::string_view name : LossNames()) {
    const auto loss = MakeLoss(name);
    ASSERT_TRUE(loss.ok()) << loss.status();
    EXPECT_EQ((*loss)->name(), name);
  }
}

TEST(LossesTest, AnotherNameIsAnsweredWithTheNames) {
  const absl::Status status = MakeLoss("hinge").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()),
              ::testing::AllOf(::testing::HasSubstr("hinge"), ::testing::HasSubstr("mse, mae")));
}

}  // namespace
}  // namespace dtnn
