#include "models/observe/energy/power_log.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr int64_t kSecond = 1'000'000'000;

// A sample per second, of two lines, from second 10 to second 14.
PowerLog Log() {
  PowerLog log;
  log.Add({.begin = 10 * kSecond,
           .end = 14 * kSecond,
           .lines = 2,
           .watts = {1, 3, 5, 4, 2, 10, 10, 10, 10, 10}});
  log.Add({.begin = 20 * kSecond, .end = 21 * kSecond, .lines = 2, .watts = {6, 6, 1, 3}});
  return log;
}

TEST(PowerLogTest, WithoutASampleInsidePowerIsLinear) {
  // From 1.5 W to 2.5 W.
  const SpanEnergy energy =
      Log().EnergyOf(10 * kSecond + kSecond / 4, 10 * kSecond + 3 * kSecond / 4);
  EXPECT_THAT(energy.joules, ElementsAre(DoubleEq(1), DoubleEq(5)));
  EXPECT_EQ(energy.samples, 0);
}

TEST(PowerLogTest, SamplesInsideStandForTheirTime) {
  // 2 W to 3 W in half a second, (3 + 5 + 4) / 3 W for two seconds, 4 W to 3 W in half a second.
  const SpanEnergy energy = Log().EnergyOf(10 * kSecond + kSecond / 2, 13 * kSecond + kSecond / 2);
  EXPECT_THAT(energy.joules, ElementsAre(DoubleEq(1.25 + 8 + 1.75), DoubleEq(30)));
  EXPECT_EQ(energy.samples, 3);
  EXPECT_THAT(Log().EnergyOf(20 * kSecond, 21 * kSecond).joules,
              ElementsAre(DoubleEq(6), DoubleEq(2)));
}

TEST(PowerLogTest, OfWhatWasNotMeasuredNothingIsKnown) {
  const PowerLog log = Log();
  EXPECT_THAT(log.EnergyOf(9 * kSecond, 11 * kSecond).joules, IsEmpty());
  EXPECT_THAT(log.EnergyOf(13 * kSecond, 15 * kSecond).joules, IsEmpty());
  EXPECT_THAT(log.EnergyOf(15 * kSecond, 16 * kSecond).joules, IsEmpty());
  EXPECT_THAT(log.EnergyOf(13 * kSecond, 20 * kSecond).joules, IsEmpty());
  EXPECT_THAT(log.EnergyOf(12 * kSecond, 12 * kSecond).joules, IsEmpty());
  EXPECT_THAT(PowerLog().EnergyOf(1, 2).joules, IsEmpty());
}

TEST(PowerLogTest, IntervalsThatSayNothingAreLeftOut) {
  PowerLog log;
  log.Add({.begin = 0, .end = 5, .watts = {3}});
  log.Add({.begin = 5, .end = 5, .watts = {3, 4}});
  EXPECT_TRUE(log.empty());
  log.Add({.begin = 0, .end = 5, .watts = {1, 2, 3}}, 4);
  log.Add({.begin = 5, .end = 9, .lines = 2, .watts = {1, 2, 3, 4}});
  EXPECT_EQ(log.dropped(), 0);
  log.Add({.begin = 5, .end = 9, .watts = {1, 2}}, 4);
  EXPECT_EQ(log.dropped(), 2);
  EXPECT_EQ(log.Text(), "Time;Watts;Line0\n0;1;1\n2.5e-09;2;2\n5e-09;3;3\n");
}

TEST(PowerLogTest, TheTableHasALinePerSample) {
  EXPECT_EQ(Log().Text(),
            "Time;Watts;Line0;Line1\n0;11;1;10\n1;13;3;10\n2;15;5;10\n3;14;4;10\n4;12;2;10\n"
            "10;7;6;1\n11;9;6;3\n");
}

}  // namespace
}  // namespace dtnn
