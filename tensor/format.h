// The order of the axes of an image tensor: NHWC (channels innermost, the default) or NCHW.

#ifndef DTNN_TENSOR_FORMAT_H_
#define DTNN_TENSOR_FORMAT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tensor/shape.h"

namespace dtnn {

enum class TensorFormat : uint8_t { kNHWC, kNCHW };

// "NHWC" or "NCHW".
std::string_view Name(TensorFormat format);
// Any case; nullopt for other words.
std::optional<TensorFormat> ParseTensorFormat(std::string_view name);

// The extents of one image, whatever their order in memory.
struct ImageExtents {
  int64_t height = 0, width = 0, channels = 0;
  friend bool operator==(const ImageExtents&, const ImageExtents&) = default;
};
std::string ToString(const ImageExtents& extents);  // "28x28x1": height, width, channels

// Shape of one sample (rank 3) to extents and back.
ImageExtents ExtentsOf(const Shape& sample, TensorFormat format);
Shape SampleShape(const ImageExtents& extents, TensorFormat format);

}  // namespace dtnn

#endif  // DTNN_TENSOR_FORMAT_H_
