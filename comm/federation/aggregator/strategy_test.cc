#include "comm/federation/aggregator/strategy.h"

#include <cmath>
#include <string>
#include <vector>

#include "comm/federation/factors.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn::federation {
namespace {

using ::testing::ElementsAre;

std::vector<float> After(const StrategyOptions& options, const std::vector<float>& average,
                         size_t trainable, Moments& moments, std::vector<float> parameters) {
  Follow(options, average, trainable, {}, moments, parameters);
  return parameters;
}

TEST(StrategyTest, NamesAreReadAndWritten) {
  for (const char* name : {"avg", "wavg", "invwavg", "fedprox", "fednova", "fedavgm", "fedadam",
                           "fedyogi", "fedadagrad"}) {
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
       {Strategy::kWavg, Strategy::kFedprox, Strategy::kFednova, Strategy::kFedavgm,
        Strategy::kFedadam, Strategy::kFedyogi, Strategy::kFedadagrad}) {
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

class AdaptiveTest : public ::testing::TestWithParam<Strategy> {};

INSTANTIATE_TEST_SUITE_P(All, AdaptiveTest,
                         ::testing::Values(Strategy::kFedadam, Strategy::kFedyogi,
                                           Strategy::kFedadagrad),
                         [](const auto& info) { return std::string(Name(info.param)); });

// Against the formula in double precision, over several rounds, both signs, and squares that grow
// and fall.
TEST_P(AdaptiveTest, FollowsItsFormula) {
  const StrategyOptions options = {.strategy = GetParam(),
                                   .learning_rate = 0.2,
                                   .momentum = 0.9,
                                   .second_moment = 0.99,
                                   .adaptivity = 1e-3};
  Moments moments;
  std::vector<float> w = {2, -3};
  double m[2] = {}, v[2] = {}, wanted[2] = {2, -3};
  const std::vector<std::vector<float>> averages = {{1, -2}, {3, -3}, {0.5, 4}, {1.9f, 4}};
  for (int t = 1; t <= 4; ++t) {
    const std::vector<float>& average = averages[size_t(t - 1)];
    w = After(options, average, 2, moments, w);
    for (int i = 0; i < 2; ++i) {
      const double d = average[size_t(i)] - wanted[i];
      m[i] = 0.9 * m[i] + 0.1 * d;
      double rate = 0.2 / (1 - std::pow(0.9, t));
      if (GetParam() == Strategy::kFedadagrad) {
        v[i] += d * d;
      } else {
        rate *= std::sqrt(1 - std::pow(0.99, t));
        const int sign = v[i] > d * d ? 1 : v[i] < d * d ? -1 : 0;
        v[i] = GetParam() == Strategy::kFedyogi ? v[i] - 0.01 * d * d * sign
                                                : 0.99 * v[i] + 0.01 * d * d;
      }
      wanted[i] += rate * m[i] / (std::sqrt(v[i]) + 1e-3);
      EXPECT_NEAR(w[size_t(i)], wanted[i], 1e-5) << "round " << t << ", number " << i;
    }
  }
}

// Whatever the size of the difference.
TEST_P(AdaptiveTest, TheFirstStepIsTheRate) {
  Moments moments;
  const StrategyOptions options = {.strategy = GetParam(), .adaptivity = 1e-9};
  const std::vector<float> w = After(options, {5, -50}, 2, moments, {0, 0});
  EXPECT_NEAR(w[0], 0.1, 1e-5);
  EXPECT_NEAR(w[1], -0.1, 1e-5);
}

// After one large difference and then small ones, Adam forgets it soonest, Yogi slowly, and Adagrad
// never: the smaller v, the larger the steps.
TEST(StrategyTest, LargeDifferencesAreForgottenSoonerOrLater) {
  const auto second_after = [](Strategy strategy) {
    Moments moments;
    const StrategyOptions options = {.strategy = strategy, .momentum = 0, .second_moment = 0.9};
    std::vector<float> w = After(options, {1}, 1, moments, {0});
    for (int t = 0; t < 20; ++t) w = After(options, {w[0] + 0.01f}, 1, moments, w);
    return moments.second[0];
  };
  EXPECT_NEAR(second_after(Strategy::kFedadam), 0.1 * std::pow(0.9, 20), 1e-4);
  EXPECT_NEAR(second_after(Strategy::kFedyogi), 0.1 - 20 * 0.1 * 1e-4, 1e-5);
  EXPECT_NEAR(second_after(Strategy::kFedadagrad), 1 + 20 * 1e-4, 1e-5);
}

// Against the formula of Wang et al., from what clients have.
TEST(StrategyTest, NovaFollowsItsFormula) {
  const StrategyOptions options = {.strategy = Strategy::kFednova};
  const std::vector<ClientWork> works = {
      {.samples = 100, .steps = 2}, {.samples = 300, .steps = 12}, {.samples = 50, .steps = 1}};
  const std::vector<std::vector<float>> x = {{1, -2, 5}, {3, 0.5, 6}, {-1, 4, 10}};
  const std::vector<float> w = {0.5, 2, 7};
  double mean_steps = 0, normalised[2] = {};
  for (size_t k = 0; k < 3; ++k) {
    const double p = double(works[k].samples) / 450;
    mean_steps += p * double(works[k].steps);
    for (size_t i = 0; i < 2; ++i) {
      normalised[i] += p * (double(w[i]) - x[k][i]) / double(works[k].steps);
    }
  }
  // The average that the aggregator gets, of what clients send.
  const std::vector<double> factors =
      ClientFactors(WeightingOf(options.strategy), std::vector<int64_t>{100, 300, 50},
                    std::vector<int64_t>{2, 12, 1});
  std::vector<float> average(3), next = w;
  for (size_t i = 0; i < 3; ++i) {
    double sum = 0, divisor = 0;
    for (size_t k = 0; k < 3; ++k) {
      sum += factors[k] * x[k][i];
      divisor += factors[k];
    }
    average[i] = float(sum / divisor);
  }
  Moments moments;
  Follow(options, average, 2, works, moments, next);
  for (size_t i = 0; i < 2; ++i) EXPECT_NEAR(next[i], w[i] - mean_steps * normalised[i], 1e-5) << i;
  EXPECT_EQ(next[2], average[2]) << "running statistics are averages";
  EXPECT_TRUE(moments.first.empty());
}

TEST(StrategyTest, NovaOfEqualStepsIsTheMean) {
  Moments moments;
  std::vector<float> w = {0.5, 2};
  Follow({.strategy = Strategy::kFednova}, std::vector<float>{1, -3}, 2,
         std::vector<ClientWork>{{.samples = 10, .steps = 7}, {.samples = 90, .steps = 7}}, moments,
         w);
  EXPECT_FLOAT_EQ(w[0], 1);
  EXPECT_FLOAT_EQ(w[1], -3);
}

TEST(StrategyTest, NumbersOutOfRangeAreRefused) {
  EXPECT_TRUE(Validate(StrategyOptions{}).ok());
  EXPECT_FALSE(Validate({.momentum = 1}).ok());
  EXPECT_FALSE(Validate({.momentum = -0.1}).ok());
  EXPECT_FALSE(Validate({.second_moment = 1}).ok());
  EXPECT_FALSE(Validate({.learning_rate = NAN}).ok());
  EXPECT_FALSE(Validate({.proximal = -1}).ok());
  EXPECT_FALSE(Validate({.adaptivity = 0}).ok());
}

}  // namespace
}  // namespace dtnn::federation
