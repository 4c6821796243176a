// The mean and the standard deviation of every channel, and the normalisation that makes them 0 and
// 1
// (`--standardize`).

#ifndef DTNN_DATA_CHANNEL_STATISTICS_H_
#define DTNN_DATA_CHANNEL_STATISTICS_H_

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

// Reads every sample once, with all threads, and sums in double by the formulas of Chan, Golub and
// LeVeque ("Algorithms for computing the sample variance", 1983): the result does not depend on the
// number of threads. InvalidArgument without samples; errors of the data set.
absl::StatusOr<ChannelStatistics> ComputeChannelStatistics(const Dataset& dataset, Part part,
                                                           std::span<const int64_t> indices);

// Of all values together, given those of parts, at least one, that hold different ones.
ChannelStatistics Merge(std::span<const ChannelStatistics> parts);

// Offset -mean, scale 1 / deviation; a channel that is constant keeps its scale.
Normalization Standardization(const ChannelStatistics& statistics);

}  // namespace dtnn

#endif  // DTNN_DATA_CHANNEL_STATISTICS_H_
