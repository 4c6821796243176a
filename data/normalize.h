// y = (x + offset) * scale, the last thing that happens to a sample of any part: with one offset
// and scale for all values (`--normalize`), or one per channel (`--standardize`:
// channel_statistics.h).

#ifndef DTNN_DATA_NORMALIZE_H_
#define DTNN_DATA_NORMALIZE_H_

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
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

// Samples of `extents`, one after the other, in place. The formula is evaluated in the values' own
// type. Without allocating.
void Normalize(const Normalization& normalization, const ImageExtents& extents, TensorFormat format,
               std::span<float> samples);
void Normalize(const Normalization& normalization, const ImageExtents& extents, TensorFormat format,
               std::span<double> samples);

}  // namespace dtnn

#endif  // DTNN_DATA_NORMALIZE_H_
