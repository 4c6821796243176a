#include "models/observe/trace/watts_between.h"

#include "gtest/gtest.h"

namespace dtnn {
namespace {

Event Reading(int64_t end, int64_t microjoules) {
  return {.activity = Activity::kEnergy, .bytes = microjoules, .end = end};
}

TEST(WattsBetweenTest, AreJoulesPerSecond) {
  EXPECT_DOUBLE_EQ(
      WattsBetween(Reading(1'000'000'000, 5), Reading(3'000'000'000, 84'000'005)).value(), 42);
  EXPECT_EQ(WattsBetween(Reading(1, 5), Reading(2, 5)), 0.0);
}

TEST(WattsBetweenTest, ReadingsThatSayNothingHaveNone) {
  EXPECT_EQ(WattsBetween(Event(), Reading(10, 5)), std::nullopt) << "the first";
  EXPECT_EQ(WattsBetween(Reading(10, 5), Reading(20, 0)), std::nullopt) << "one that failed";
  EXPECT_EQ(WattsBetween(Reading(10, 5), Reading(10, 6)), std::nullopt) << "no time passed";
}

}  // namespace
}  // namespace dtnn
