#include "comm/federation/aggregator/sums/robust_mean.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <string>

#include "tensor/errors.h"
#include "tensor/text/number.h"
#include "tensor/text/one_line.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn::federation {
namespace {

using Updates = std::span<const WeightedUpdate>;

// Numbers that a thread takes at a time.
constexpr size_t kGrain = 4096;

double Value(const WeightedUpdate& update, size_t i) { return update.values[i] / update.factor; }

// Without the `cut` smallest and largest.
std::vector<float> TrimmedMean(Updates updates, size_t cut, const std::stop_token& stop) {
  std::vector<float> mean(updates[0].values.size());
  const size_t n = updates.size();
  ParallelFor(0, int64_t(mean.size()), int64_t(kGrain), [&](int64_t begin, int64_t end) {
    std::vector<double> sorted(n);
    for (auto i = size_t(begin); i < size_t(end); ++i) {
      if ((i - size_t(begin)) % kGrain == 0 && stop.stop_requested()) return;
      for (size_t k = 0; k < n; ++k) sorted[k] = Value(updates[k], i);
      std::ranges::sort(sorted);
      const double sum =
          std::accumulate(sorted.begin() + int64_t(cut), sorted.end() - int64_t(cut), 0.0);
      mean[i] = float(sum / double(n - 2 * cut));
    }
  });
  return mean;
}

double SquaredDistance(const WeightedUpdate& a, const WeightedUpdate& b) {
  double sum = 0;
  for (size_t i = 0; i < a.values.size(); ++i) {
    const double d = Value(a, i) - Value(b, i);
    sum += d * d;
  }
  return sum;
}

// The n - f that are nearest to their neighbours, in the order of clients.
std::vector<size_t> ChooseByKrum(Updates updates, size_t f, const std::stop_token& stop) {
  const size_t n = updates.size();
  std::vector<double> distances(n * n);
  ParallelFor(0, int64_t(n * n), 1, [&](int64_t begin, int64_t end) {
    for (auto pair = size_t(begin); pair < size_t(end); ++pair) {
      const size_t a = pair / n, b = pair % n;
      if (stop.stop_requested()) return;
      if (a < b) distances[pair] = SquaredDistance(updates[a], updates[b]);
    }
  });
  const size_t neighbours = n - f - 2;
  std::vector<double> scores;
  for (size_t a = 0; a < n; ++a) {
    std::vector<double> of_others;
    for (size_t b = 0; b < n; ++b) {
      if (a != b) of_others.push_back(distances[std::min(a, b) * n + std::max(a, b)]);
    }
    std::ranges::sort(of_others);
    scores.push_back(
        std::accumulate(of_others.begin(), of_others.begin() + int64_t(neighbours), 0.0));
  }
  std::vector<size_t> order(n);
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, {}, [&](size_t k) { return scores[k]; });
  order.resize(n - f);
  std::ranges::sort(order);
  return order;
}

std::vector<float> MeanOf(Updates updates, std::span<const size_t> chosen,
                          const std::stop_token& stop) {
  std::vector<double> sum(updates[0].values.size());
  for (const size_t k : chosen) {
    if (stop.stop_requested()) break;
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += Value(updates[k], i);
  }
  std::vector<float> mean(sum.size());
  for (size_t i = 0; i < sum.size(); ++i) mean[i] = float(sum[i] / double(chosen.size()));
  return mean;
}

std::vector<float> ClippedMean(Updates updates, std::span<const float> begin, double most,
                               const std::stop_token& stop) {
  std::vector<double> sum(begin.size());
  double divisor = 0;
  for (const WeightedUpdate& update : updates) {
    if (stop.stop_requested()) break;
    double squares = 0;
    for (size_t i = 0; i < begin.size(); ++i) {
      const double d = Value(update, i) - begin[i];
      squares += d * d;
    }
    const double scale = squares > most * most ? most / std::sqrt(squares) : 1;
    for (size_t i = 0; i < begin.size(); ++i) {
      sum[i] += update.factor * scale * (Value(update, i) - begin[i]);
    }
    divisor += update.factor;
  }
  std::vector<float> mean(begin.size());
  for (size_t i = 0; i < mean.size(); ++i) mean[i] = float(begin[i] + sum[i] / divisor);
  return mean;
}

}  // namespace

absl::StatusOr<RobustOptions> ParseRobust(std::string_view text) {
  if (text.empty()) return RobustOptions{};
  if (text == "median") return RobustOptions{.kind = RobustKind::kMedian};
  const size_t colon = std::min(text.find(':'), text.size());
  const std::string_view word = text.substr(0, colon);
  const std::optional<double> number =
      NumberIn<double>(text.substr(std::min(colon + 1, text.size())));
  if (word == "norm" && number && *number > 0 && *number <= 1e12) {
    return RobustOptions{.kind = RobustKind::kNorm, .number = *number};
  }
  if ((word == "trimmed" || word == "krum") && number && *number >= 0 && *number < 0.5) {
    return RobustOptions{.kind = word == "krum" ? RobustKind::kKrum : RobustKind::kTrimmed,
                         .number = *number};
  }
  return InvalidArgument("\"", OneLine(std::string(text), 80),
                         "\": expected median, trimmed:F or krum:F with a fraction F of the "
                         "clients below 0.5, such as trimmed:0.2, or norm:R with a norm above 0");
}

int64_t LeftOut(const RobustOptions& options, int64_t n) {
  if (options.kind != RobustKind::kTrimmed && options.kind != RobustKind::kKrum) return 0;
  return int64_t(std::floor(options.number * double(n) + 1e-9));
}

int64_t LeastUpdates(const RobustOptions& options) {
  if (options.kind != RobustKind::kKrum) return 1;
  int64_t least = kMostKrumUpdates + 1;
  while (least - 1 >= 2 * LeftOut(options, least - 1) + 3) --least;
  return least;
}

absl::Status CheckUpdateCounts(const RobustOptions& options, int64_t least, int64_t most) {
  if (options.kind != RobustKind::kKrum) return absl::OkStatus();
  const int64_t needed = LeastUpdates(options);
  if (least >= needed && most <= kMostKrumUpdates) return absl::OkStatus();
  if (needed > kMostKrumUpdates) {
    return InvalidArgument("krum:", options.number, ": leaves out too many of ", kMostKrumUpdates,
                           " updates, the most that it takes; expected a smaller fraction");
  }
  return InvalidArgument("krum:", options.number, " of ", least, " to ", most,
                         " updates: expected at least ", needed,
                         ", 3 more than twice those it leaves out, and at most ", kMostKrumUpdates);
}

absl::Status CheckRobust(const RobustOptions& options, const StrategyOptions& strategy,
                         const ProtectionOptions& protection, int64_t least, int64_t most) {
  DTNN_RETURN_IF_ERROR(CheckUpdateCounts(options, least, most));
  if (options.on() && (strategy.by_steps() || strategy.controls())) {
    return InvalidArgument("strategy ", Name(strategy.strategy),
                           " needs the mean of the updates, not a robust one");
  }
  if (!options.on() || (protection.protection == Protection::kNone && !protection.privacy.on())) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      "robust means need updates that the aggregator can read one by one, without noise");
}

std::vector<float> RobustMean(const RobustOptions& options, Updates updates,
                              std::span<const float> begin, const std::stop_token& stop) {
  const auto bad = size_t(LeftOut(options, int64_t(updates.size())));
  switch (options.kind) {
    case RobustKind::kMedian:
      return TrimmedMean(updates, (updates.size() - 1) / 2, stop);
    case RobustKind::kTrimmed:
      return TrimmedMean(updates, bad, stop);
    case RobustKind::kKrum:
      return MeanOf(updates, ChooseByKrum(updates, bad, stop), stop);
    case RobustKind::kNorm:
      return ClippedMean(updates, begin, options.number, stop);
    case RobustKind::kNone:
      break;
  }
  return ClippedMean(updates, begin, HUGE_VAL, stop);
}

}  // namespace dtnn::federation
