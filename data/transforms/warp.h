// An image seen through an affine map, between pixels by bilinear interpolation.

#ifndef DTNN_DATA_TRANSFORMS_WARP_H_
#define DTNN_DATA_TRANSFORMS_WARP_H_

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "data/transforms/image_layout.h"
#include "data/transforms/transform.h"

namespace dtnn {

// Pixel (y, x) of the result is the source at (y0 + yy y + yx x, x0 + xy y + xx x), where pixels
// are at whole numbers.
struct AffineMap {
  double y0 = 0, yy = 1, yx = 0;
  double x0 = 0, xy = 0, xx = 1;
};

// A part of the source.
struct WarpWindow {
  int64_t top = 0, left = 0, height = 0, width = 0;
};

enum class Outside : uint8_t {
  kZero,  // what is not in the window is 0
  kEdge,  // it is the nearest pixel of the window
};

// Replaces the image, which goes through `scratch`.
template <typename T>
void Warp(const AffineMap& map, const WarpWindow& window, Outside outside,
          const SampleImage<T>& image) {
  std::copy_n(image.values, image.size(), image.scratch);
  const ImageStrides strides(image.extents, image.format);
  const int64_t channels = image.extents.channels;
  const int64_t bottom = window.top + window.height - 1, right = window.left + window.width - 1;
  for (int64_t y = 0; y < image.extents.height; ++y) {
    T* to = image.values + y * strides.row;
    for (int64_t x = 0; x < image.extents.width; ++x, to += strides.column) {
      double down = map.y0 + map.yy * double(y) + map.yx * double(x);
      double across = map.x0 + map.xy * double(y) + map.xx * double(x);
      if (outside == Outside::kEdge) {
        down = std::clamp(down, double(window.top), double(bottom));
        across = std::clamp(across, double(window.left), double(right));
      }
      const int64_t row = int64_t(std::floor(down)), column = int64_t(std::floor(across));
      const T low = T(down - double(row)), near = T(across - double(column));
      // The weights of the four pixels around; those outside the window have none.
      const bool rows[] = {row >= window.top && row <= bottom,
                           row + 1 >= window.top && row + 1 <= bottom};
      const bool columns[] = {column >= window.left && column <= right,
                              column + 1 >= window.left && column + 1 <= right};
      const T above = rows[0] ? 1 - low : T(0), below = rows[1] ? low : T(0);
      const T before = columns[0] ? 1 - near : T(0), after = columns[1] ? near : T(0);
      const T* upper = image.scratch + (rows[0] ? row : window.top) * strides.row;
      const T* lower = image.scratch + (rows[1] ? row + 1 : window.top) * strides.row;
      const int64_t first = (columns[0] ? column : window.left) * strides.column;
      const int64_t second = (columns[1] ? column + 1 : window.left) * strides.column;
      for (int64_t c = 0; c < channels; ++c) {
        const int64_t at = c * strides.channel;
        to[at] = above * (before * upper[at + first] + after * upper[at + second]) +
                 below * (before * lower[at + first] + after * lower[at + second]);
      }
    }
  }
}

}  // namespace dtnn

#endif  // DTNN_DATA_TRANSFORMS_WARP_H_
