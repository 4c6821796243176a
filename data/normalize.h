// y = (x + offset) * scale, the last thing that happens to a sample of any part: with one offset
// and scale for all values (`--normalize`), or one per channel such that over the training samples
// every channel has mean 0 and standard deviation 1 (standardisation).

#ifndef DTNN_DATA_NORMALIZE_H_
#define DTNN_DATA_NORMALIZE_H_

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "data/dataset.h"
#include "tensor/format.h"

namespace dtnn {

// Both empty (nothing happens), of one element (for all channels) or one per channel.
struct Normalization {
  std::vector<double> offset = {};
  std::vector<double> scale = {};

  bool any() const { return !scale.empty(); }
  friend bool operator==(const Normalization&, const Normalization&) = default;
};

// `first`, and then `second`.
Normalization Then(const Normalization& first, const Normalization& second);

// InvalidArgument unless the lengths are as above, all numbers are finite and no scale is 0.
absl::Status CheckNormalization(const Normalization& normalization, int64_t channels);

// Per channel, over all pixels of the samples; the deviation is that of the population (divided by
// n, not n - 1).
struct ChannelStatistics {
  std::vector<double> mean, deviation;
};

// Reads every sample once, with all threads, and sums in double by the formulas of Chan, Golub and
// LeVeque ("Algorithms for computing the sample variance", 1983): the result does not depend on the
// number of threads. InvalidArgument without samples; errors of the data set.
absl::StatusOr<ChannelStatistics> ComputeChannelStatistics(const Dataset& dataset, Part part,
                                                           std::span<const int64_t> indices);

// Offset -mean, scale 1 / deviation; a channel that is constant keeps its scale.
Normalization Standardization(const ChannelStatistics& statistics);

// Samples of `extents`, one after the other, in place. The formula is evaluated in the values' own
// type. Without allocating.
void Normalize(const Normalization& normalization, const ImageExtents& extents, TensorFormat format,
               std::span<float> samples);
void Normalize(const Normalization& normalization, const ImageExtents& extents, TensorFormat format,
               std::span<double> samples);

}  // namespace dtnn

#endif  // DTNN_DATA_NORMALIZE_H_
