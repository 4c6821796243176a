#include "data/loading/poisson_steps.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <set>
#include <vector>

#include "data/testing/philox_words.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

using testing::PhiloxWords;

TEST(PoissonStepsTest, StepsTakeAscendingSamplesOnceAndFollowEachOther) {
  PoissonSteps steps(100, 20, PhiloxWords(7));
  steps.Draw(50);
  int64_t begin = 0;
  for (int64_t step = 0; step < 50; ++step) {
    const auto taken = steps.Step(step);
    EXPECT_EQ(steps.Begin(step), begin);
    begin += int64_t(taken.size());
    EXPECT_EQ(std::ranges::adjacent_find(taken, std::greater_equal()), taken.end());
    EXPECT_TRUE(taken.empty() || (taken.front() >= 0 && taken.back() < 100));
  }
  EXPECT_EQ(begin, int64_t(steps.drawn().size()));
}

// Each sample, each pair of neighbours and each pair of steps within 5.5 deviations.
TEST(PoissonStepsTest, CoinsAreAlikeAndIndependent) {
  constexpr int64_t kSamples = 40, kSteps = 20000;
  PoissonSteps steps(kSamples, 8, PhiloxWords(11));
  EXPECT_DOUBLE_EQ(steps.probability(), 0.2);
  steps.Draw(kSteps);
  std::vector<double> taken(kSamples), with_next(kSamples), in_next_step(kSamples);
  std::vector<bool> before(kSamples);
  for (int64_t step = 0; step < kSteps; ++step) {
    std::vector<bool> now(kSamples);
    for (const int64_t i : steps.Step(step)) now[size_t(i)] = true;
    for (size_t i = 0; i < kSamples; ++i) {
      taken[i] += now[i];
      with_next[i] += now[i] && now[(i + 1) % kSamples];
      in_next_step[i] += now[i] && before[i];
    }
    before = now;
  }
  const auto near = [&](double count, double p) {
    EXPECT_NEAR(count, kSteps * p, 5.5 * std::sqrt(kSteps * p * (1 - p)));
  };
  for (size_t i = 0; i < kSamples; ++i) {
    near(taken[i], 0.2);
    near(with_next[i], 0.04);
    near(in_next_step[i], 0.04);
  }
}

TEST(PoissonStepsTest, SizesAreBinomialAndMayBeZero) {
  constexpr int64_t kSteps = 20000;
  PoissonSteps steps(1000, 2, PhiloxWords(3));
  steps.Draw(kSteps);
  double empty = 0, squares = 0;
  for (int64_t step = 0; step < kSteps; ++step) {
    const double size = double(steps.Step(step).size());
    empty += size == 0;
    squares += (size - 2) * (size - 2);
    EXPECT_LE(size, double(steps.most()));
  }
  const double p = std::pow(1 - 0.002, 1000);
  EXPECT_NEAR(empty, kSteps * p, 5 * std::sqrt(kSteps * p));
  EXPECT_NEAR(squares / kSteps, 2 * (1 - 0.002), 0.1);
}

TEST(PoissonStepsTest, StepsOfAllSamplesAreCertain) {
  PoissonSteps steps(5, 9, PhiloxWords(3));
  steps.Draw(2);
  EXPECT_EQ(steps.probability(), 1);
  EXPECT_EQ(steps.drawn(), (std::vector<int64_t>{0, 1, 2, 3, 4, 0, 1, 2, 3, 4}));
}

TEST(PoissonStepsTest, AStepOfTooManyIsDrawnAgain) {
  // Words of ones: gaps of 0, so steps of all samples, until other words come.
  int calls = 0;
  PoissonSteps steps(100000, 1, [&](std::span<uint64_t> words) {
    std::ranges::fill(words, ++calls <= 98 ? ~uint64_t{0} : uint64_t{0});
  });
  EXPECT_EQ(steps.most(), 52);
  steps.Draw(1);
  EXPECT_TRUE(steps.drawn().empty());
  EXPECT_EQ(calls, 99);
}

TEST(PoissonStepsTest, EachPlaceHasARandomKey) {
  PoissonSteps steps(1000, 100, PhiloxWords(5));
  steps.Draw(30);
  ASSERT_EQ(steps.keys().size(), steps.drawn().size());
  const std::set<int64_t> others(steps.keys().begin(), steps.keys().end());
  EXPECT_EQ(others.size(), steps.keys().size());
  EXPECT_LT(*others.rbegin(), int64_t{1} << 46);
  EXPECT_GT(*others.rbegin(), int64_t{1} << 45);
}

TEST(PoissonStepsTest, EachDrawIsAnother) {
  PoissonSteps steps(1000, 100, PhiloxWords(5));
  steps.Draw(3);
  const std::vector<int64_t> first = steps.drawn();
  steps.Draw(3);
  EXPECT_NE(steps.drawn(), first);
}

}  // namespace
}  // namespace dtnn
