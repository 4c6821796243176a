// Where the values of an image are, in either format.

#ifndef DTNN_DATA_TRANSFORMS_IMAGE_LAYOUT_H_
#define DTNN_DATA_TRANSFORMS_IMAGE_LAYOUT_H_

#include <cstdint>

#include "tensor/format.h"

namespace dtnn {

// An image as planes of rows: one plane of pixels of several elements, or one per channel.
struct ImageRows {
  int64_t planes, height, width, pixel;  // pixel: elements of one

  ImageRows(const ImageExtents& extents, TensorFormat format)
      : planes(format == TensorFormat::kNHWC ? 1 : extents.channels),
        height(extents.height),
        width(extents.width),
        pixel(format == TensorFormat::kNHWC ? extents.channels : 1) {}
  int64_t pitch() const { return width * pixel; }  // elements of a row
};

// From one channel, row or column to the next.
struct ImageStrides {
  int64_t channel, row, column;

  ImageStrides(const ImageExtents& extents, TensorFormat format)
      : channel(format == TensorFormat::kNHWC ? 1 : extents.height * extents.width),
        row(format == TensorFormat::kNHWC ? extents.width * extents.channels : extents.width),
        column(format == TensorFormat::kNHWC ? extents.channels : 1) {}
};

}  // namespace dtnn

#endif  // DTNN_DATA_TRANSFORMS_IMAGE_LAYOUT_H_
