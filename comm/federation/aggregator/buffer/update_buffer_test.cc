#include "comm/federation/aggregator/buffer/update_buffer.h"

#include <cmath>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn::federation {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Asked Client(int64_t samples, int64_t staleness, int64_t steps = 1) {
  return {.name = "c", .samples = samples, .steps = steps, .staleness = staleness};
}

TEST(UpdateBufferTest, WeightsFallWithTheRootOfStaleness) {
  EXPECT_EQ(WeightOf(StalenessWeight::kRoot, 0), 1);
  EXPECT_EQ(WeightOf(StalenessWeight::kRoot, 3), 0.5);
  EXPECT_EQ(WeightOf(StalenessWeight::kRoot, 15), 0.25);
  EXPECT_DOUBLE_EQ(WeightOf(StalenessWeight::kRoot, 1), 1 / std::sqrt(2));
  EXPECT_EQ(WeightOf(StalenessWeight::kConstant, 15), 1);
  EXPECT_EQ(ParseStalenessWeight("root"), StalenessWeight::kRoot);
  EXPECT_EQ(ParseStalenessWeight("constant"), StalenessWeight::kConstant);
  EXPECT_EQ(ParseStalenessWeight("linear"), std::nullopt);
}

// Parameters 10 and -2, a running statistic 8. By hand, with weights 100 and 300:
//   10 + (100 * 1 * 4 + 300 * 0.5 * -2) / 400 = 10.25
//   -2 + (100 * 1 * 1 + 300 * 0.5 * 2) / 400 = -1
//   (100 * 1 * 6 + 300 * 0.5 * 2) / (100 + 150) = 3.6
TEST(UpdateBufferTest, AStaleUpdateMovesLess) {
  const std::vector<float> parameters = {10, -2, 8};
  UpdateBuffer buffer({.size = 2}, {.strategy = Strategy::kWavg}, {}, 3, 2);
  buffer.Add({4, 1, 6}, Client(100, 0));
  EXPECT_FALSE(buffer.full());
  buffer.Add({-2, 2, 2}, Client(300, 3));
  EXPECT_TRUE(buffer.full());
  EXPECT_THAT(buffer.Mean(parameters), ElementsAre(10.25f, -1.0f, 3.6f));
  buffer.Clear();
  EXPECT_EQ(buffer.updates(), 0);
  buffer.Add({1, 1, 1}, Client(7, 8));
  EXPECT_THAT(buffer.Mean({parameters}), ElementsAre(float(10 + 1 / 3.0), float(-2 + 1 / 3.0), 1));
}

TEST(UpdateBufferTest, ConstantWeightsTakeStaleUpdatesForNew) {
  UpdateBuffer buffer({.size = 2, .weight = StalenessWeight::kConstant},
                      {.strategy = Strategy::kAvg}, {}, 1, 1);
  buffer.Add({4}, Client(100, 0));
  buffer.Add({-2}, Client(300, 3));
  EXPECT_THAT(buffer.Mean(std::vector<float>{10}), ElementsAre(11));
}

// Weights 100 / 2 and 300 / 1.
TEST(UpdateBufferTest, FednovaDividesWeightsBySteps) {
  UpdateBuffer buffer({.size = 2}, {.strategy = Strategy::kFednova}, {}, 1, 1);
  buffer.Add({7}, Client(100, 0, 2));
  buffer.Add({14}, Client(300, 0, 1));
  EXPECT_THAT(buffer.Mean(std::vector<float>{0}), ElementsAre(13));
}

// A variance of 0.5 that others have moved since the client began with 4: 4 - 3.75 less would be
// negative.
TEST(UpdateBufferTest, RunningStatisticsStayPositive) {
  UpdateBuffer buffer({.size = 1}, {}, {}, 1, 0);
  buffer.Add({0.25}, Client(5, 2));
  EXPECT_THAT(buffer.Mean(std::vector<float>{0.5}), ElementsAre(0.25f));
}

TEST(UpdateBufferTest, RobustMeansAreOfWhatStaleUpdatesMove) {
  const std::vector<float> parameters = {10, 8};
  UpdateBuffer buffer({.size = 3}, {}, {.kind = RobustKind::kMedian}, 2, 1);
  buffer.Add({4, 1}, Client(16, 3));  // moves by 2
  buffer.Add({3, 2}, Client(1, 0));
  buffer.Add({1e6, 1e6}, Client(4, 0));
  EXPECT_THAT(buffer.Mean(parameters), ElementsAre(13, 2));
  buffer.Clear();
  buffer.Add({1, 4}, Client(2, 0));
  EXPECT_THAT(buffer.Mean(parameters), ElementsAre(11, 4));
}

TEST(UpdateBufferTest, NormsAreOfWhatIsTrained) {
  const UpdateBuffer buffer({.size = 1}, {}, {}, 3, 2);
  EXPECT_TRUE(buffer.Check(std::vector<float>{3, 4, 1000}, 5).ok());
  EXPECT_EQ(buffer.Check(std::vector<float>{3, 4, 1000}, 4.9).message(),
            "its update has the norm 5, more than the 4.9 that are allowed");
  EXPECT_TRUE(buffer.Check(std::vector<float>{3e6, 0, 12}, 0).ok());
  for (const double norm : {0.0, 1e30}) {
    EXPECT_EQ(buffer.Check(std::vector<float>{NAN, 0, 12}, norm).message(),
              "its update has numbers beyond 1e+12");
    EXPECT_EQ(buffer.Check(std::vector<float>{0, 0, 2e12f}, norm).message(),
              "its update has numbers beyond 1e+12");
  }
}

TEST(UpdateBufferTest, TheBitsDoNotDependOnThreads) {
  constexpr size_t kValues = 100001;
  std::vector<std::vector<float>> means;
  for (const int threads : {1, 2, 4}) {
    std::thread([&] {
      SetNumThreads(threads);
      UpdateBuffer buffer({.size = 5}, {}, {}, kValues, kValues - 100);
      for (int client = 0; client < 5; ++client) {
        std::vector<float> update(kValues);
        for (size_t i = 0; i < kValues; ++i) update[i] = std::sin(float(i * size_t(client + 1)));
        buffer.Add(std::move(update), Client(3 + client, client));
      }
      means.push_back(buffer.Mean(std::vector<float>(kValues, 0.1f)));
    }).join();
  }
  EXPECT_EQ(means[0], means[1]);
  EXPECT_EQ(means[0], means[2]);
}

TEST(UpdateBufferTest, WhatCannotBeAddedOneByOneIsRefusedWithTheReason) {
  const auto why = [](const std::function<void(BufferOptions&, StrategyOptions&, ProtectionOptions&,
                                               ModelFacts&)>& change) {
    BufferOptions buffer = {.size = 2};
    StrategyOptions strategy;
    ProtectionOptions protection;
    ModelFacts model;
    change(buffer, strategy, protection, model);
    return std::string(CheckBuffer(buffer, strategy, protection, model).message());
  };
  EXPECT_EQ(why([](auto&...) {}), "");
  EXPECT_EQ(why([](BufferOptions& b, auto&...) { b.max_staleness = -1; }),
            "a staleness of at most -1: expected 0 or more");
  EXPECT_THAT(why([](auto&, StrategyOptions& s, auto&...) { s.strategy = Strategy::kInvwavg; }),
              HasSubstr("a buffer of 2 updates: not with strategy invwavg: it weighs a client"));
  for (const Protection kind :
       {Protection::kMasked, Protection::kSharedKey, Protection::kThreshold}) {
    EXPECT_THAT(why([kind](auto&, auto&, ProtectionOptions& p, auto&) { p.protection = kind; }),
                HasSubstr("not with encryption: it hides an update in the sum"));
  }
  EXPECT_THAT(
      why([](auto&, auto&, ProtectionOptions& p, auto&) { p.privacy = {.clip = 1, .noise = 1}; }),
      HasSubstr("not with differential privacy: the account of privacy counts rounds"));
  EXPECT_THAT(why([](auto&, auto&, auto&, ModelFacts& m) { m.local[0] = 1; }),
              HasSubstr("not with parameters that stay with clients: they follow the rounds"));
  EXPECT_EQ(why([](BufferOptions& b, StrategyOptions& s, auto&...) {
              b.size = 0;
              s.strategy = Strategy::kInvwavg;
            }),
            "");
}

}  // namespace
}  // namespace dtnn::federation
