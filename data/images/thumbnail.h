// A sample as a small picture, for people: as a network sees it, stretched from its smallest value
// to its largest, of large ones every k-th pixel.

#ifndef DTNN_DATA_IMAGES_THUMBNAIL_H_
#define DTNN_DATA_IMAGES_THUMBNAIL_H_

#include <cstdint>

#include "data/images/image.h"
#include "tensor/format.h"
#include "tensor/tensor.h"

namespace dtnn {

// Whether a batch holds images: of rank 4, floating-point, dense and on the host.
bool HoldsImages(const Tensor& x);

// Sample `index` of such a batch, with no side longer than `most_pixels`: three channels as they
// are, of other numbers the first one. NaN and infinity are black.
Image Thumbnail(const Tensor& x, int64_t index, TensorFormat format, int64_t most_pixels);

}  // namespace dtnn

#endif  // DTNN_DATA_IMAGES_THUMBNAIL_H_
