#include "comm/federation/hidden_metrics.h"

#include <cmath>
#include <string>
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

TEST(HiddenMetricsTest, ValuesUpToTheLargestAreSent) {
  Metrics metrics = {{"a", 60}, {"b", -60}, {"c", 60.001}, {"d", 0}};
  const std::vector<float> numbers = HideMetrics(metrics);
  EXPECT_THAT(std::vector<float>(numbers.begin(), numbers.begin() + 10),
              ElementsAre(60, 1, -60, 1, 0, 0, 0, 1, 0, 0));
}

TEST(HiddenMetricsTest, MoreMetricsThanThereAreNumbersForAreLeftOut) {
  Metrics metrics;
  for (int i = 0; i < 33; ++i) metrics.emplace_back("m" + std::to_string(i), i + 1);
  const std::vector<float> numbers = HideMetrics(metrics);
  ASSERT_EQ(numbers.size(), 64u);
  EXPECT_EQ(numbers[62], 32);
  EXPECT_EQ(metrics[31].second, 0);
  EXPECT_EQ(MetricsOfMean(metrics, numbers).size(), 32u);
}

// A thousandth less than all have it for the rounding of sums.
TEST(HiddenMetricsTest, AMeanIsOfAllClientsButForRounding) {
  const Metrics names = {{"a", 0}};
  const auto mean = [&](float there) {
    std::vector<float> numbers(kMetricNumbers);
    numbers[0] = 3;
    numbers[1] = there;
    return MetricsOfMean(names, numbers);
  };
  EXPECT_THAT(mean(0.9995f), ElementsAre(Pair("a", 3)));
  EXPECT_THAT(mean(1.0005f), ElementsAre(Pair("a", 3)));
  EXPECT_THAT(mean(0.995f), IsEmpty());
  EXPECT_THAT(mean(1.005f), IsEmpty());
}

TEST(HiddenMetricsTest, ClientsWithOtherMetricsHaveNoMean) {
  Metrics first = {{"a", 1}, {"b", 2}};
  const std::vector<float> numbers = HideMetrics(first);
  const Metrics same = first, swapped = {{"b", 0}, {"a", 0}}, fewer = {{"a", 0}};
  const auto of = [&](const std::vector<const Metrics*>& clients) {
    return MetricsOfSum(clients, numbers);
  };
  EXPECT_THAT(of({&first, &same}), ElementsAre(Pair("a", 1), Pair("b", 2)));
  EXPECT_THAT(of({&first, &same, &swapped}), IsEmpty());
  EXPECT_THAT(of({&first, &fewer}), IsEmpty());
  EXPECT_THAT(of({}), IsEmpty());
  EXPECT_THAT(MetricsOfSum(std::vector<const Metrics*>{&first}, {}), IsEmpty())
      << "of a sum without these numbers";
}

}  // namespace
}  // namespace dtnn::federation
