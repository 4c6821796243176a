#include "comm/federation/hidden_metrics.h"

#include <algorithm>
#include <cmath>

namespace dtnn::federation {
namespace {

// Sums of models hold numbers up to 64 (masked_protocol.cc).
constexpr double kLargest = 60;
// Rounding error of the fraction of clients that have a metric: sums of integers and ciphertexts
// round.
constexpr double kRounding = 1e-3;

}  // namespace

std::vector<float> HideMetrics(Metrics& metrics) {
  std::vector<float> numbers(kMetricNumbers);
  for (size_t i = 0; i < std::min(metrics.size(), kMostMetrics); ++i) {
    double& value = metrics[i].second;
    if (std::abs(value) <= kLargest) {  // not of NaN
      numbers[2 * i] = float(value);
      numbers[2 * i + 1] = 1;
    }
    value = 0;
  }
  return numbers;
}

Metrics MetricsOfMean(const Metrics& names, std::span<const float> mean) {
  Metrics metrics;
  for (size_t i = 0; i < std::min(names.size(), kMostMetrics); ++i) {
    if (std::abs(mean[2 * i + 1] - 1) > kRounding) continue;
    metrics.emplace_back(names[i].first, double(mean[2 * i]));
  }
  return metrics;
}

Metrics MetricsOfSum(std::span<const Metrics* const> of_clients, std::span<const float> mean) {
  if (of_clients.empty() || mean.empty()) return {};
  const Metrics& names = *of_clients[0];
  const bool alike = std::ranges::all_of(of_clients, [&](const Metrics* own) {
    return std::ranges::equal(*own, names, {}, &Metrics::value_type::first,
                              &Metrics::value_type::first);
  });
  return alike ? MetricsOfMean(names, mean) : Metrics();
}

}  // namespace dtnn::federation
