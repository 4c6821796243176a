// The mean and the standard deviation of every channel, and the normalisation that makes them 0 and
// 1 (`--standardize`).

#ifndef DTNN_DATA_LOADING_CHANNEL_STATISTICS_H_
#define DTNN_DATA_LOADING_CHANNEL_STATISTICS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "data/dataset.h"
#include "data/normalize.h"

namespace dtnn {

// Per channel, over all pixels of the samples; the deviation is that of the population (divided by
// n, not n - 1).
struct ChannelStatistics {
  std::vector<double> mean, deviation;
  double count = 0;  // values of a channel
};

// Moments of some values of one channel. They are combined by the formulas of Chan, Golub and
// LeVeque ("Algorithms for computing the sample variance", 1983).
struct Moments {
  double count = 0, mean = 0, squares = 0;  // squares: the sum of (x - mean)^2

  void Add(const Moments& other);
};

// One of `shares` about equal parts of the work.
struct Share {
  int64_t index = 0, shares = 1;
};

// Reads every sample of the share once, with all threads: the moments of every channel for each 256
// samples, [chunk][channel]. The shares, one after the other, give what the whole gives.
// InvalidArgument without samples in any share; errors of the data set.
absl::StatusOr<std::vector<Moments>> ComputeMoments(const Dataset& dataset, Split split,
                                                    std::span<const int64_t> indices,
                                                    const Share& share);

// From the moments [chunk][channel], which are summed in their order.
ChannelStatistics StatisticsOf(std::span<const Moments> moments, int64_t channels);

// Over all samples: the result depends neither on the number of threads nor on that of shares.
absl::StatusOr<ChannelStatistics> ComputeChannelStatistics(const Dataset& dataset, Split split,
                                                           std::span<const int64_t> indices);

// Offset -mean, scale 1 / deviation; a channel that is constant keeps its scale. InvalidArgument
// for a deviation so small that float32 does not hold the samples in full precision, nor the scale.
absl::StatusOr<Normalization> Standardization(const ChannelStatistics& statistics);

}  // namespace dtnn

#endif  // DTNN_DATA_LOADING_CHANNEL_STATISTICS_H_
