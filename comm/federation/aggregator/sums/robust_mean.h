// Means that updates of a few lying or broken clients cannot move far, of plain updates only.
//
// With x_k the parameters of n clients, and w those that they began with:
//
//   median     of each number the median of x_k              Yin et al., "Byzantine-robust
//   trimmed:F  of each number the mean of x_k without the       distributed learning", 2018
//              floor(F n) largest and smallest
//   krum:F     the mean of the n - f updates, f = floor(F n), that have the least sums of squared
//              distances to their n - f - 2 nearest neighbours: Multi-Krum of Blanchard et al.,
//              "Machine learning with adversaries", 2017. It needs n >= 2 f + 3: of fewer, the
//              nearest neighbours of a lie may be lies
//   norm:R     the mean of w + (x_k - w) min(1, R / |x_k - w|), weighted as without it: Sun et al.,
//              "Can you really backdoor federated learning?", 2019
//
// The first three give all clients the same weight, and their breaking point is at F of the
// clients, median's at a half. Memory: all updates of the round, and n^2 distances with krum. Cost:
// median and trimmed sort, krum takes n^2 / 2 distances.

#ifndef DTNN_COMM_FEDERATION_AGGREGATOR_SUMS_ROBUST_MEAN_H_
#define DTNN_COMM_FEDERATION_AGGREGATOR_SUMS_ROBUST_MEAN_H_

#include <cstdint>
#include <span>
#include <stop_token>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "comm/federation/aggregator/strategy.h"
#include "comm/federation/protection.h"

namespace dtnn::federation {

enum class RobustKind : uint8_t { kNone, kMedian, kTrimmed, kKrum, kNorm };

struct RobustOptions {
  RobustKind kind = RobustKind::kNone;
  double number = 0;  // F or R

  bool on() const { return kind != RobustKind::kNone; }
};

// "median", "trimmed:F", ...; none of an empty text. InvalidArgument, which says what is expected,
// for other texts: F is from 0 up to but without a half, R above 0.
absl::StatusOr<RobustOptions> ParseRobust(std::string_view text);

// The updates that krum:F leaves out of n, and trimmed:F on each side: floor(F n); 0 with the
// others.
int64_t LeftOut(const RobustOptions& options, int64_t n);

// The most updates that krum takes: of their distances, 128 MiB.
inline constexpr int64_t kMostKrumUpdates = 4096;

// The fewest updates that a mean can be taken of, where it can be of all numbers from there to
// kMostKrumUpdates: 1 but with krum, and kMostKrumUpdates + 1 where F is too near a half for any.
int64_t LeastUpdates(const RobustOptions& options);

// InvalidArgument where rounds of `least` to `most` updates are too small or too large for krum.
absl::Status CheckUpdateCounts(const RobustOptions& options, int64_t least, int64_t most);

// The same, and where updates are not read one by one, or have noise, of which the account of
// privacy knows what a mean tells; and where the strategy makes more of the mean of all updates.
absl::Status CheckRobust(const RobustOptions& options, const StrategyOptions& strategy,
                         const ProtectionOptions& protection, int64_t least, int64_t most);

// The parameters of a client times its factor.
struct WeightedUpdate {
  std::span<const float> values;
  double factor = 1;
};

// `begin`: w, of as many numbers; LeastUpdates(options) or more, of numbers that are finite. The
// bits are the same on any number of threads. Once `stop` is requested it returns soon, whatever
// numbers it has.
std::vector<float> RobustMean(const RobustOptions& options, std::span<const WeightedUpdate> updates,
                              std::span<const float> begin, const std::stop_token& stop = {});

}  // namespace dtnn::federation

#endif  // DTNN_COMM_FEDERATION_AGGREGATOR_SUMS_ROBUST_MEAN_H_
