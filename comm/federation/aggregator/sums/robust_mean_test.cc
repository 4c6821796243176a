#include "comm/federation/aggregator/sums/robust_mean.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn::federation {
namespace {

using ::testing::ElementsAre;
using Values = std::vector<std::vector<float>>;

std::vector<float> Mean(const std::string& text, const Values& values,
                        std::vector<double> factors = {}, std::vector<float> begin = {},
                        const std::stop_token& stop = {}) {
  std::vector<WeightedUpdate> updates;
  for (size_t k = 0; k < values.size(); ++k) {
    updates.push_back({.values = values[k], .factor = factors.empty() ? 1 : factors[k]});
  }
  begin.resize(values[0].size());
  return RobustMean(*ParseRobust(text), updates, begin, stop);
}

TEST(RobustMeanTest, MedianOfEachNumber) {
  EXPECT_THAT(Mean("median", {{1, 50}, {2, -5}, {90, 6}}), ElementsAre(2, 6));
  EXPECT_THAT(Mean("median", {{1}, {2}, {4}, {90}}), ElementsAre(3));
  EXPECT_THAT(Mean("median", {{7}}), ElementsAre(7));
  EXPECT_THAT(Mean("median", {{7}, {8}}), ElementsAre(7.5));
  EXPECT_THAT(Mean("median", {{1}, {1}, {10}}, {0.5, 1, 0.25}), ElementsAre(2)) << "2, 1, 40";
}

TEST(RobustMeanTest, ReadsNoUpdateOnceItIsToStop) {
  std::stop_source stop;
  stop.request_stop();
  for (const std::string text : {"median", "trimmed:0.2", "krum:0.2", "norm:100"}) {
    const auto mean = Mean(text, Values(5, std::vector<float>(10000, 7)), std::vector<double>(5, 1),
                           {}, stop.get_token());
    EXPECT_THAT(mean, ::testing::Each(::testing::Ne(7))) << text;
  }
}

TEST(RobustMeanTest, TrimmedLeavesOutBothEnds) {
  const Values values = {{5}, {1}, {100}, {2}, {-7}};
  EXPECT_THAT(Mean("trimmed:0", values), ElementsAre(20.2f));
  EXPECT_THAT(Mean("trimmed:0.2", values), ElementsAre(8.f / 3));
  EXPECT_THAT(Mean("trimmed:0.39", values), ElementsAre(8.f / 3));
  EXPECT_THAT(Mean("trimmed:0.4", values), ElementsAre(2));
}

// (10, 10) and (-20, 5) have no near neighbours.
TEST(RobustMeanTest, KrumTakesThoseThatAreNearEachOther) {
  const Values values = {{1, 1}, {10, 10}, {1, 2}, {2, 1}, {-20, 5}, {2, 2}, {1.5, 1.5}};
  EXPECT_THAT(Mean("krum:0.3", values), ElementsAre(1.5, 1.5));
  EXPECT_NEAR(Mean("krum:0", values)[0], -2.5 / 7, 1e-6) << "all of them";
  EXPECT_THAT(Mean("krum:0.2", {{3}, {4}, {5}}), ElementsAre(4)) << "no client is left out";
  EXPECT_THAT(Mean("krum:0.2", {{3}, {4}, {90}, {5}, {4}}), ElementsAre(4)) << "five, less one";
}

// With two of them, 0 has the largest sum, 1 + 9; with one or three, 5 has.
TEST(RobustMeanTest, KrumComparesFiveUpdatesWithTwoNeighbours) {
  EXPECT_THAT(Mean("krum:0.2", {{3}, {0}, {5}, {1}, {3}}), ElementsAre(3));
}

TEST(RobustMeanTest, AStrategyThatCountsStepsNeedsAllUpdates) {
  const StrategyOptions nova = {.strategy = Strategy::kFednova};
  EXPECT_EQ(CheckRobust({}, nova, {}, 3, 64), absl::OkStatus());
  EXPECT_EQ(CheckRobust(*ParseRobust("median"), nova, {}, 3, 64).message(),
            "strategy fednova needs the mean of the updates, not a robust one");
}

// n >= 2 floor(F n) + 3 for all n from there.
TEST(RobustMeanTest, KrumNeedsTwiceTheBadAndThree) {
  const auto least = [](const std::string& text) { return LeastUpdates(*ParseRobust(text)); };
  EXPECT_EQ(least("krum:0"), 3);
  EXPECT_EQ(least("krum:0.2"), 3);
  EXPECT_EQ(least("krum:0.25"), 5) << "four less one are two pairs";
  EXPECT_EQ(least("krum:0.4"), 11) << "ten have four, and nine three";
  EXPECT_EQ(least("krum:0.4999"), 4097) << "more than are compared";
  EXPECT_EQ(least("trimmed:0.4"), 1);
  const auto error = [](const std::string& text, int64_t least, int64_t most) {
    return std::string(CheckRobust(*ParseRobust(text), {}, {}, least, most).message());
  };
  EXPECT_EQ(error("krum:0.4", 11, 4096), "");
  EXPECT_EQ(error("median", 1, 1000000), "");
  EXPECT_EQ(error("krum:0.4", 10, 64),
            "krum:0.4 of 10 to 64 updates: expected at least 11, 3 more than twice those it leaves "
            "out, and at most 4096");
  EXPECT_EQ(error("krum:0.2", 3, 4097),
            "krum:0.2 of 3 to 4097 updates: expected at least 3, 3 more than twice those it leaves "
            "out, and at most 4096");
  EXPECT_EQ(error("krum:0.4999", 64, 64),
            "krum:0.4999: leaves out too many of 4096 updates, the most that it takes; expected a "
            "smaller fraction");
}

TEST(RobustMeanTest, NormShortensAndKeepsWeights) {
  // From (1, 1): (3, 4) of length 5, which becomes 2.5; (0.6, 0.8) of length 1.
  const Values values = {{4, 5}, {0.8f, 0.9f}};
  const std::vector<float> mean = Mean("norm:2.5", values, {1, 0.5}, {1, 1});
  EXPECT_NEAR(mean[0], 1 + (1.5 + 0.5 * 0.6) / 1.5, 1e-6);
  EXPECT_NEAR(mean[1], 1 + (2.0 + 0.5 * 0.8) / 1.5, 1e-6);
  const std::vector<float> all = Mean("norm:100", values, {1, 0.5}, {1, 1});
  EXPECT_NEAR(all[0], (4 + 0.8) / 1.5, 1e-6) << "the mean";
}

// 40 clients near 1, of which eight send the opposite, or a hundred times as much: the mean is far
// off, and none of these.
TEST(RobustMeanTest, AFifthOfLiarsMovesThemLittle) {
  constexpr int kClients = 40, kLiars = 8;
  constexpr size_t kValues = 10000;
  std::mt19937 random(5);
  std::normal_distribution<float> normal(1, 0.3f);
  for (const float scale : {-1.f, 100.f}) {
    Values values;
    for (int k = 0; k < kClients; ++k) {
      std::vector<float> own(kValues);
      for (float& x : own) x = normal(random) * (k < kLiars ? scale : 1);
      values.push_back(own);
    }
    const auto distance = [&](const std::string& text) {
      double squares = 0;
      for (const float x : Mean(text, values)) squares += (x - 1) * (x - 1);
      return std::sqrt(squares / kValues);
    };
    EXPECT_GT(distance("trimmed:0"), 0.35) << scale;
    EXPECT_LT(distance("median"), 0.15) << scale;
    EXPECT_LT(distance("trimmed:0.25"), 0.15) << scale;
    EXPECT_LT(distance("krum:0.25"), 0.065) << scale;
    // Each honest update has the length 104: a liar weighs no more than another client.
    EXPECT_LT(distance("norm:104"), scale < 0 ? 0.45 : 0.1) << scale;
  }
}

TEST(RobustMeanTest, TheSameBitsOnAnyNumberOfThreads) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  Values values(9, std::vector<float>(20001));
  for (auto& own : values) std::ranges::generate(own, [&] { return normal(random); });
  for (const std::string text : {"median", "trimmed:0.3", "krum:0.3", "norm:50"}) {
    std::vector<float> first;
    for (const int threads : {1, 2, 4}) {
      std::thread([&] {
        SetNumThreads(threads);
        const std::vector<float> mean = Mean(text, values);
        if (first.empty()) first = mean;
        EXPECT_EQ(mean, first) << text << " on " << threads;
      }).join();
    }
  }
}

TEST(RobustMeanTest, OtherTextsAreRefused) {
  EXPECT_FALSE(ParseRobust("")->on());
  EXPECT_EQ(ParseRobust("norm:1e12")->number, 1e12);
  for (const std::string text :
       {"mean", "median:1", "trimmed", "trimmed:0.5", "trimmed:-0.1", "krum:", "krum:x", "norm",
        "norm:0", "norm:nan", "norm:1000000000001"}) {
    EXPECT_EQ(ParseRobust(text).status().message(),
              "\"" + text +
                  "\": expected median, trimmed:F or krum:F with a fraction F of the clients below "
                  "0.5, such as trimmed:0.2, or norm:R with a norm above 0");
  }
}

TEST(RobustMeanTest, FractionsOfUpdatesAreRoundedDown) {
  const RobustOptions trimmed = {.kind = RobustKind::kTrimmed, .number = 0.2};
  EXPECT_EQ(LeftOut(trimmed, 4), 0);
  EXPECT_EQ(LeftOut(trimmed, 5), 1);
  EXPECT_EQ(LeftOut(trimmed, 9), 1);
  EXPECT_EQ(LeftOut({.kind = RobustKind::kKrum, .number = 0.1}, 30), 3) << "0.1 is not exact";
  EXPECT_EQ(LeftOut({.kind = RobustKind::kMedian}, 30), 0);
  EXPECT_EQ(LeftOut({.kind = RobustKind::kNorm, .number = 2}, 30), 0);
}

}  // namespace
}  // namespace dtnn::federation
