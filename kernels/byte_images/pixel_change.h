// What happens to the places of an image's pixels in a random change that computes no values: it
// moves them, or hides some behind byte 0. Several of them, one after the other, are an image's
// changes in a batch of bytes (byte_images.h).

#ifndef DTNN_KERNELS_BYTE_IMAGES_PIXEL_CHANGE_H_
#define DTNN_KERNELS_BYTE_IMAGES_PIXEL_CHANGE_H_

#include <cstdint>

#include "tensor/host_device.h"

namespace dtnn {

// Numbers that a kind does not name are ignored. All are in pixels, from the image's upper left.
struct PixelChange {
  enum Kind : int32_t {
    kNone,         // the image stays as it is
    kFlipColumns,  // mirrored left to right
    kFlipRows,     // mirrored top to bottom
    // Inside [top, bottom) x [left, right) the pixel at (y, x) is what was at (y + down,
    // x + across), and byte 0 where that is not in the image; outside, byte 0.
    kMove,
    // The same everywhere, but the image continues beyond its edges, mirrored at the edge pixels,
    // which do not repeat; -height < down < height, and likewise across.
    kMoveReflected,
    kHide,  // byte 0 inside [top, bottom) x [left, right)
  };

  Kind kind = kNone;
  int32_t top = 0, left = 0, bottom = 0, right = 0;
  int32_t down = 0, across = 0;
};

// As elements of a tensor of int32.
inline constexpr int64_t kNumbersOfChange = sizeof(PixelChange) / sizeof(int32_t);
static_assert(sizeof(PixelChange) == 7 * sizeof(int32_t));

struct PixelPlace {
  int32_t row, column;
};

// Where the pixel that `changes` show at `place` is in the image before them, into `place`; false
// where it is hidden. Whatever the changes say, a place that comes back with true is in the image.
DTNN_HOST_DEVICE inline bool FindPixel(const PixelChange* changes, int64_t count, int32_t height,
                                       int32_t width, PixelPlace& place) {
  // 64 bits: sums of any two numbers.
  int64_t y = place.row, x = place.column;
  const auto mirrored = [](int64_t i, int64_t side) {
    if (i < 0) return -i;
    return i < side ? i : 2 * (side - 1) - i;
  };
  while (count-- > 0) {
    const PixelChange& change = changes[count];
    const bool inside =
        y >= change.top && y < change.bottom && x >= change.left && x < change.right;
    switch (change.kind) {
      case PixelChange::kNone:
        break;
      case PixelChange::kFlipColumns:
        x = width - 1 - x;
        break;
      case PixelChange::kFlipRows:
        y = height - 1 - y;
        break;
      case PixelChange::kMove:
        if (!inside) return false;
        y += change.down;
        x += change.across;
        break;
      case PixelChange::kMoveReflected:
        y = mirrored(y + change.down, height);
        x = mirrored(x + change.across, width);
        break;
      case PixelChange::kHide:
        if (inside) return false;
        break;
    }
    if (y < 0 || y >= height || x < 0 || x >= width) return false;
  }
  place = {int32_t(y), int32_t(x)};
  return true;
}

}  // namespace dtnn

#endif  // DTNN_KERNELS_BYTE_IMAGES_PIXEL_CHANGE_H_
