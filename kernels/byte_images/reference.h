// ByteImages in plain loops, one change after the other over whole images: the definition that
// tests compare with, bit for bit.

#ifndef DTNN_KERNELS_BYTE_IMAGES_REFERENCE_H_
#define DTNN_KERNELS_BYTE_IMAGES_REFERENCE_H_

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/byte_images/byte_images.h"

namespace dtnn::reference {

// An image's bytes, row by row, pixels of all channels.
struct ByteImage {
  ImageExtents extents;
  std::vector<uint8_t> bytes;

  uint8_t& At(int64_t y, int64_t x, int64_t c) {
    return bytes[size_t((y * extents.width + x) * extents.channels + c)];
  }
  // 0 outside.
  uint8_t Or0(int64_t y, int64_t x, int64_t c) {
    const bool inside = y >= 0 && y < extents.height && x >= 0 && x < extents.width;
    return inside ? At(y, x, c) : uint8_t{0};
  }
};

inline ByteImage Changed(const PixelChange& change, ByteImage image) {
  const int64_t height = image.extents.height, width = image.extents.width;
  const auto mirrored = [](int64_t i, int64_t side) {
    if (i < 0) i = -i;
    if (i >= side) i = side - 1 - (i - (side - 1));
    return i;
  };
  ByteImage to = image;
  for (int64_t y = 0; y < height; ++y) {
    for (int64_t x = 0; x < width; ++x) {
      const bool in_rows = change.top <= y && y < change.bottom;
      const bool in_window = in_rows && change.left <= x && x < change.right;
      for (int64_t c = 0; c < image.extents.channels; ++c) {
        uint8_t& byte = to.At(y, x, c);
        if (change.kind == PixelChange::kFlipColumns) byte = image.At(y, width - 1 - x, c);
        if (change.kind == PixelChange::kFlipRows) byte = image.At(height - 1 - y, x, c);
        if (change.kind == PixelChange::kMove) {
          byte = in_window ? image.Or0(y + change.down, x + change.across, c) : uint8_t{0};
        }
        if (change.kind == PixelChange::kMoveReflected) {
          byte = image.At(mirrored(y + change.down, height), mirrored(x + change.across, width), c);
        }
        if (change.kind == PixelChange::kHide && in_window) byte = 0;
      }
    }
  }
  return to;
}

// All operands are of n images, in the order of their formats.
template <typename T>
void ByteImages(const ByteImagesSpec& spec, int64_t n, const uint8_t* bytes,
                const PixelChange* changes, const T* values, T* y) {
  const auto& [height, width, channels] = spec.sample;
  const auto index = [&](TensorFormat format, int64_t row, int64_t column, int64_t c) {
    return format == TensorFormat::kNHWC ? (row * width + column) * channels + c
                                         : (c * height + row) * width + column;
  };
  const int64_t size = height * width * channels;
  for (int64_t i = 0; i < n; ++i) {
    ByteImage image = {spec.sample, std::vector<uint8_t>(size_t(size))};
    const auto each = [&](auto visit) {
      for (int64_t row = 0; row < height; ++row) {
        for (int64_t column = 0; column < width; ++column) {
          for (int64_t c = 0; c < channels; ++c) visit(row, column, c);
        }
      }
    };
    each([&](int64_t row, int64_t column, int64_t c) {
      image.At(row, column, c) = bytes[i * size + index(spec.from, row, column, c)];
    });
    for (int64_t k = 0; k < spec.changes; ++k)
      image = Changed(changes[i * spec.changes + k], image);
    each([&](int64_t row, int64_t column, int64_t c) {
      y[i * size + index(spec.to, row, column, c)] = values[256 * c + image.At(row, column, c)];
    });
  }
}

}  // namespace dtnn::reference

#endif  // DTNN_KERNELS_BYTE_IMAGES_REFERENCE_H_
