#include "data/loading/epoch_division.h"

#include <cstdint>

#include "gtest/gtest.h"

namespace dtnn {
namespace {

TEST(EpochDivisionTest, StepsAreFullButTheLast) {
  const EpochDivision division = {.samples = 48000, .batch = 64, .ranks = 12};
  EXPECT_EQ(division.step_samples(), 768);
  EXPECT_EQ(division.steps(), 63);
  EXPECT_EQ(division.SamplesBefore(0), 0);
  EXPECT_EQ(division.SamplesBefore(62), 62 * 768);
  EXPECT_EQ(division.SamplesBefore(63), 48000);
}

TEST(EpochDivisionTest, FewerThanRanksJoinTheStepBefore) {
  const EpochDivision division = {.samples = 26, .batch = 4, .ranks = 3};
  EXPECT_EQ(division.steps(), 2);
  EXPECT_EQ(division.SamplesBefore(1), 12);
  EXPECT_EQ(division.SamplesBefore(2), 26);
}

TEST(EpochDivisionTest, AsManyAsRanksAreAStep) {
  const EpochDivision division = {.samples = 27, .batch = 4, .ranks = 3};
  EXPECT_EQ(division.steps(), 3);
  EXPECT_EQ(division.SamplesBefore(2), 24);
}

TEST(EpochDivisionTest, NoSamplesMakeNoSteps) {
  EXPECT_EQ(EpochDivision().steps(), 0);
  EXPECT_EQ(EpochDivision().SamplesBefore(0), 0);
  const EpochDivision done = {.samples = 26, .batch = 4, .ranks = 3, .first = 26};
  EXPECT_EQ(done.steps(), 0);
  EXPECT_EQ(done.SamplesBefore(0), 26);
}

// A run that stops at a step and is continued has the steps that were missing.
TEST(EpochDivisionTest, TheRestDividesAsTheWholeDoes) {
  for (int64_t samples = 1; samples < 80; ++samples) {
    for (int64_t batch = 1; batch < 8; ++batch) {
      for (int64_t ranks = 1; ranks <= samples && ranks < 6; ++ranks) {
        const EpochDivision whole = {.samples = samples, .batch = batch, .ranks = ranks};
        for (int64_t step = 0; step <= whole.steps(); ++step) {
          EpochDivision rest = whole;
          rest.first = whole.SamplesBefore(step);
          ASSERT_EQ(rest.steps(), whole.steps() - step)
              << samples << " samples, " << ranks << " ranks of " << batch << ", step " << step;
          for (int64_t i = 0; i <= rest.steps(); ++i) {
            ASSERT_EQ(rest.SamplesBefore(i), whole.SamplesBefore(step + i));
          }
        }
      }
    }
  }
}

TEST(EpochDivisionTest, EveryRankNeedsASample) {
  EpochDivision division = {.samples = 26, .batch = 4, .ranks = 3};
  for (division.first = 0; division.first <= 26; ++division.first) {
    EXPECT_EQ(division.divides(), division.first != 24 && division.first != 25) << division.first;
  }
}

TEST(EpochDivisionTest, NumbersBeyondAnyRunDoNotOverflow) {
  const EpochDivision huge = {
      .samples = INT64_MAX, .batch = INT64_MAX, .ranks = INT64_MAX, .first = 1};
  EXPECT_EQ(huge.step_samples(), INT64_MAX);
  EXPECT_EQ(huge.steps(), 0);
  EXPECT_EQ(huge.SamplesBefore(INT64_MAX), INT64_MAX);
  const EpochDivision tiny = {.samples = INT64_MAX, .batch = 1, .ranks = 1};
  EXPECT_EQ(tiny.steps(), INT64_MAX);
  EXPECT_EQ(tiny.SamplesBefore(INT64_MAX - 1), INT64_MAX - 1);
}

}  // namespace
}  // namespace dtnn
