#include "comm/federation/hidden_metrics.h"

#include <cmath>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn::federation {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

// Means of what clients with these metrics send, with these weights.
Metrics MeanOf(std::vector<Metrics> clients, const std::vector<double>& weights) {
  std::vector<double> sum(kMetricNumbers);
  double all = 0;
  for (size_t client = 0; client < clients.size(); ++client) {
    const std::vector<float> numbers = HideMetrics(clients[client]);
    for (size_t i = 0; i < numbers.size(); ++i) sum[i] += weights[client] * numbers[i];
    all += weights[client];
  }
  std::vector<float> mean;
  for (const double x : sum) mean.push_back(float(x / all));
  return MetricsOfMean(clients[0], mean);
}

TEST(HiddenMetricsTest, TheMeanIsThatOfTheValuesByWeight) {
  EXPECT_THAT(MeanOf({{{"loss", 4}, {"acc", 0.5}}, {{"loss", 1}, {"acc", 1}}}, {1, 3}),
              ElementsAre(Pair("loss", 1.75), Pair("acc", 0.875)));
  EXPECT_THAT(MeanOf({{}, {}}, {1, 1}), IsEmpty());
}

TEST(HiddenMetricsTest, WhatNotAllHaveOrSumsCannotHoldIsLeftOut) {
  EXPECT_THAT(MeanOf({{{"mse", 1e6}, {"acc", 0.5}}, {{"mse", 2}, {"acc", 0.5}}}, {1, 1}),
              ElementsAre(Pair("acc", 0.5)));
  EXPECT_THAT(MeanOf({{{"mse", NAN}}, {{"mse", 2}}}, {1, 1}), IsEmpty());
  EXPECT_THAT(MeanOf({{{"loss", 1}}, {}}, {1, 1}), IsEmpty());
}

TEST(HiddenMetricsTest, NothingStaysInTheReport) {
  Metrics metrics = {{"loss", 4}, {"mse", 1e6}};
  EXPECT_EQ(HideMetrics(metrics).size(), kMetricNumbers);
  EXPECT_THAT(metrics, ElementsAre(Pair("loss", 0), Pair("mse", 0)));
}

}  // namespace
}  // namespace dtnn::federation
