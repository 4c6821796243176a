// The axes under which operators see an image that was reshaped or transposed, such as (N, h * w,
// c) or (N, heads, h * w, channels of a head), on the way to a product of two images: attention.
//
// An axis is a product of factors, of which each is a part of one of three: the samples of a batch,
// whose number is not known, the channels of the image, or its pixels, row by row.

#ifndef DTNN_MODELS_ONNX_SHAPES_AXES_H_
#define DTNN_MODELS_ONNX_SHAPES_AXES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tensor/shape.h"

namespace dtnn {

// The extent of the batch in a shape that is computed; and so many times that, as where samples and
// heads are one axis. (Files have the lowest number of all, in slices from the first element on.)
inline constexpr int64_t kBatchExtent = INT64_MIN + (int64_t{1} << 40), kMostTimes = 1 << 30;
constexpr int64_t BatchExtent(int64_t times) { return kBatchExtent + (times - 1); }
constexpr bool IsOfBatch(int64_t extent) {
  return extent >= kBatchExtent && extent < kBatchExtent + kMostTimes;
}
constexpr int64_t TimesOf(int64_t extent) { return extent - kBatchExtent + 1; }

// An image has no more; files have up to 6.
inline constexpr size_t kMostImageAxes = 16;

struct AxisFactor {
  enum class Of : uint8_t { kSamples, kChannels, kPixels };
  Of of = Of::kSamples;
  int64_t extent = kBatchExtent;  // kBatchExtent for samples, else above 1
  int64_t step = 1;               // from one of its places to the next, in channels or pixels

  friend bool operator==(const AxisFactor&, const AxisFactor&) = default;
};

// The outermost first; none where the extent is 1. Neighbours that are one factor are one.
using Axis = std::vector<AxisFactor>;
using Axes = std::vector<Axis>;

// Those of an image (c, h, w).
Axes AxesOfImage(const Shape& image, bool channels_last);
// The same elements under other axes: `shape` as a Reshape has it, with one -1 at most, and
// BatchExtent for the batch, or, in the first place, `batch`, the number of samples of an input
// that names it. Nullopt where they are not products of factors, or more than kMostImageAxes.
std::optional<Axes> Reshaped(const Axes& axes, const std::vector<int64_t>& shape,
                             int64_t batch = 0);
// Nullopt where `order` is not one of the axes.
std::optional<Axes> Transposed(const Axes& axes, const std::vector<int64_t>& order);
// The same elements under axes of these extents, of which place `i` is place `places[i]` of `axis`:
// the parts that it is made of, in another order. Nullopt for any other places.
std::optional<Axes> Gathered(const Axis& axis, const std::vector<int64_t>& extents,
                             const std::vector<int64_t>& places);
// BatchExtent for the samples, and for these times something; nullopt for more than kMostTimes.
std::optional<std::vector<int64_t>> ExtentsOf(const Axes& axes);
// "N", "N * 6" or "8".
std::string TextOfExtent(int64_t extent);
// "(N, 12, 8)"; of many, the first ones.
std::string TextOf(const std::vector<int64_t>& extents);
std::string ToText(const Axes& axes);

// `extent` channels, step by step.
Axis ChannelAxis(int64_t extent, int64_t step = 1);

}  // namespace dtnn

#endif  // DTNN_MODELS_ONNX_SHAPES_AXES_H_
