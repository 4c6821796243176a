// An image's bytes, in either format, into values byte * scale, in either format, or into a batch.
// Allocates nothing.

#ifndef DTNN_DATA_IMAGES_IMAGE_BYTES_H_
#define DTNN_DATA_IMAGES_IMAGE_BYTES_H_

#include <cstdint>
#include <span>

#include "tensor/format.h"
#include "tensor/tensor.h"

namespace dtnn {

constexpr int64_t ByteCount(const ImageExtents& extents) {
  return extents.channels * extents.height * extents.width;
}

// Both spans hold ByteCount(extents) elements.
void ConvertImage(std::span<const uint8_t> from, TensorFormat from_format,
                  const ImageExtents& extents, TensorFormat format, std::span<float> to,
                  float scale = 1.0f / 255);
void ConvertImage(std::span<const uint8_t> from, TensorFormat from_format,
                  const ImageExtents& extents, TensorFormat format, std::span<double> to,
                  double scale = 1.0 / 255);

// Into row `row` of `x`, a batch of such images in `format`: byte / 255 in float32 or float64, or,
// in uint8, the bytes themselves, whose format is then that of `from`.
void PutImage(std::span<const uint8_t> from, TensorFormat from_format, const ImageExtents& extents,
              TensorFormat format, const Tensor& x, int64_t row);

}  // namespace dtnn

#endif  // DTNN_DATA_IMAGES_IMAGE_BYTES_H_
