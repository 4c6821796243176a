// The axes under which operators see an image that was reshaped or transposed, such as (N, h * w,
// c) or (N, heads, h * w, channels of a head), on the way to a product of two images: attention.
//
// An axis is a product of factors, of which each is a part of one of three: the samples of a batch,
// whose number is not known, the channels of the image, or its pixels, row by row.

#ifndef DTNN_MODELS_ONNX_IMPORT_AXES_H_
#define DTNN_MODELS_ONNX_IMPORT_AXES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tensor/shape.h"

namespace dtnn {

// The extent of the batch in a shape that is computed.
inline constexpr int64_t kBatchExtent = INT64_MIN;

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
// kBatchExtent or, in the first place, any number for the batch. Nullopt where they are not
// products of factors, or more than kMostImageAxes.
std::optional<Axes> Reshaped(const Axes& axes, const std::vector<int64_t>& shape);
// Nullopt where `order` is not one of the axes.
std::optional<Axes> Transposed(const Axes& axes, const std::vector<int64_t>& order);
// kBatchExtent for the samples, nullopt where an axis is the samples times something.
std::optional<std::vector<int64_t>> ExtentsOf(const Axes& axes);
// "(N, 12, 8)".
std::string ToText(const Axes& axes);

// `extent` channels, step by step.
Axis ChannelAxis(int64_t extent, int64_t step = 1);

}  // namespace dtnn

#endif  // DTNN_MODELS_ONNX_IMPORT_AXES_H_
