// The geometry that all samples of a data set go through before anything else: the square in the
// middle, central crop, then resize. Bytes, float32 or float64, in either tensor format; sources
// and results are dense. A square and a crop of 224 / 256 are torchvision's Resize(256) and
// CenterCrop(224), resized once.
//
// Square: of the longer side, half of what is too much goes at the beginning, rounded down.
// Crop: of each side, round(side * (1 - fraction) / 2) pixels go at either end.
// Resize: bilinear with half-pixel centres, the middle of output pixel o being (o + 0.5) * from /
// to in the source. Where an image shrinks, the triangle is widened by the same factor, so that
// every source pixel counts (no aliasing), as PIL's BILINEAR does. Weights add up to 1 at the edges
// as well. Bytes are rounded once, at the end. Runs on the calling thread, which keeps the scratch
// memory, a row of the source and the weights.

#ifndef DTNN_DATA_IMAGES_RESIZE_H_
#define DTNN_DATA_IMAGES_RESIZE_H_

#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "tensor/format.h"

namespace dtnn {

// Applied in this order.
struct Geometry {
  bool square = false;  // the largest square in the middle is kept
  double crop = 1;      // of each side, this fraction in the middle is kept: (0, 1]
  int64_t resize = 0;   // to a square of this side; 0: not at all
  friend bool operator==(const Geometry&, const Geometry&) = default;
};

// InvalidArgument for values out of range.
absl::Status CheckGeometry(const Geometry& geometry);

// The shortest side, in pixels, that an image decoded for this geometry and a result of `side`
// needs: twice what is kept, at most kMaxImageSide (image_limits.h).
int64_t ShortestSide(const Geometry& geometry, int64_t side);

// The extents of what comes out of an image of `extents`.
ImageExtents ExtentsAfter(const Geometry& geometry, const ImageExtents& extents);

struct Window {
  int64_t top = 0, left = 0, height = 0, width = 0;
  friend bool operator==(const Window&, const Window&) = default;
};

// What is kept of an image; one pixel remains at least.
Window CentralCrop(const Geometry& geometry, const ImageExtents& extents);

// The window of `from`, an image of `extents`, resized to height x width; without a change of size
// a copy. The window lies within the image and no side is 0.
void ResizeBilinear(std::span<const uint8_t> from, const ImageExtents& extents, TensorFormat format,
                    const Window& window, int64_t height, int64_t width, std::span<uint8_t> to);
void ResizeBilinear(std::span<const float> from, const ImageExtents& extents, TensorFormat format,
                    const Window& window, int64_t height, int64_t width, std::span<float> to);
void ResizeBilinear(std::span<const double> from, const ImageExtents& extents, TensorFormat format,
                    const Window& window, int64_t height, int64_t width, std::span<double> to);

// The same for classes of pixels, which have no mean: an output pixel takes the source pixel in
// which its middle lies. `from` is an image of one channel.
void ResizeNearest(std::span<const uint8_t> from, const ImageExtents& extents, const Window& window,
                   int64_t height, int64_t width, std::span<uint8_t> to);
void ResizeNearest(std::span<const int32_t> from, const ImageExtents& extents, const Window& window,
                   int64_t height, int64_t width, std::span<int32_t> to);

}  // namespace dtnn

#endif  // DTNN_DATA_IMAGES_RESIZE_H_
