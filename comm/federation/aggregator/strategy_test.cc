#include "comm/federation/aggregator/strategy.h"

#include <cmath>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn::federation {
namespace {

using ::testing::ElementsAre;

std::vector<float> After(const StrategyOptions& options, const std::vector<float>& average,
                         size_t trainable, Moments& moments, std::vector<float> parameters) {
  Follow(options, average, trainable, moments, parameters);
  return parameters;
}

TEST(StrategyTest, NamesAreReadAndWritten) {
  for (const char* name : {"avg", "wavg", "invwavg", "fedprox", "fedavgm", "fedadam"}) {
    ASSERT_TRUE(ParseStrategy(name).has_value()) << name;
    EXPECT_EQ(Name(*ParseStrategy(name)), name);
  }
  EXPECT_FALSE(ParseStrategy("mean").has_value());
  EXPECT_FALSE(ParseStrategy("").has_value());
}

TEST(StrategyTest, WeighsBySamplesButWhereTheNameSaysOtherwise) {
  EXPECT_EQ(WeightingOf(Strategy::kAvg), RankWeighting::kEqual);
  EXPECT_EQ(WeightingOf(Strategy::kInvwavg), RankWeighting::kInverseSamples);
  for (const Strategy strategy :
       {Strategy::kWavg, Strategy::kFedprox, Strategy::kFedavgm, Strategy::kFedadam}) {
    EXPECT_EQ(WeightingOf(strategy), RankWeighting::kSamples) << Name(strategy);
  }
}

TEST(StrategyTest, AveragesBecomeTheParameters) {
  for (const Strategy strategy :
       {Strategy::kAvg, Strategy::kWavg, Strategy::kInvwavg, Strategy::kFedprox}) {
    Moments moments;
    EXPECT_THAT(After({.strategy = strategy}, {1, 2, 3}, 2, moments, {9, 9, 9}),
                ElementsAre(1, 2, 3));
    EXPECT_TRUE(moments.first.empty());
  }
}

// v1 = 2 - 1 = 1, w1 = 2 - 0.5 = 1.5; v2 = 0.8 + (1.5 - 1) = 1.3, w2 = 1.5 - 0.65.
TEST(StrategyTest, MomentumFollowsItsFormula) {
  const StrategyOptions options = {
      .strategy = Strategy::kFedavgm, .learning_rate = 0.5, .momentum = 0.8};
  Moments moments;
  std::vector<float> w = After(options, {1, 5}, 1, moments, {2, 7});
  EXPECT_FLOAT_EQ(w[0], 1.5f);
  EXPECT_EQ(w[1], 5) << "running statistics are averages";
  w = After(options, {1, 6}, 1, moments, w);
  EXPECT_FLOAT_EQ(w[0], 0.85f);
  EXPECT_EQ(w[1], 6);
  EXPECT_EQ(moments.updates, 2);
}

TEST(StrategyTest, MomentumOfZeroAndRateOfOneIsTheAverage) {
  Moments moments;
  const StrategyOptions options = {.strategy = Strategy::kFedavgm, .momentum = 0};
  EXPECT_THAT(After(options, {1, -4}, 2, moments, {2, 7}), ElementsAre(1, -4));
}

// Against the formula in double precision, over several rounds and both signs.
TEST(StrategyTest, AdamFollowsItsFormula) {
  const StrategyOptions options = {.strategy = Strategy::kFedadam,
                                   .learning_rate = 0.2,
                                   .momentum = 0.9,
                                   .second_moment = 0.99,
                                   .adaptivity = 1e-3};
  Moments moments;
  std::vector<float> w = {2, -3};
  double m[2] = {}, v[2] = {}, wanted[2] = {2, -3};
  const std::vector<std::vector<float>> averages = {{1, -2}, {3, -3}, {0.5, 4}};
  for (int t = 1; t <= 3; ++t) {
    const std::vector<float>& average = averages[size_t(t - 1)];
    w = After(options, average, 2, moments, w);
    for (int i = 0; i < 2; ++i) {
      const double d = average[size_t(i)] - wanted[i];
      m[i] = 0.9 * m[i] + 0.1 * d;
      v[i] = 0.99 * v[i] + 0.01 * d * d;
      const double rate = 0.2 * std::sqrt(1 - std::pow(0.99, t)) / (1 - std::pow(0.9, t));
      wanted[i] += rate * m[i] / (std::sqrt(v[i]) + 1e-3);
      EXPECT_NEAR(w[size_t(i)], wanted[i], 1e-5) << "round " << t << ", number " << i;
    }
  }
}

// The first step of Adam is the rate, whatever the size of the difference.
TEST(StrategyTest, AdamsFirstStepIsItsRate) {
  Moments moments;
  const StrategyOptions options = {.strategy = Strategy::kFedadam, .adaptivity = 1e-9};
  const std::vector<float> w = After(options, {5, -50}, 2, moments, {0, 0});
  EXPECT_NEAR(w[0], 0.1, 1e-5);
  EXPECT_NEAR(w[1], -0.1, 1e-5);
}

TEST(StrategyTest, NumbersOutOfRangeAreRefused) {
  EXPECT_TRUE(Validate({}).ok());
  EXPECT_FALSE(Validate({.momentum = 1}).ok());
  EXPECT_FALSE(Validate({.momentum = -0.1}).ok());
  EXPECT_FALSE(Validate({.second_moment = 1}).ok());
  EXPECT_FALSE(Validate({.learning_rate = NAN}).ok());
  EXPECT_FALSE(Validate({.proximal = -1}).ok());
  EXPECT_FALSE(Validate({.adaptivity = 0}).ok());
}

}  // namespace
}  // namespace dtnn::federation
