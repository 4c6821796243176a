// Rows of images of either format, for the kernels of CPUs: in NHWC each pixel of a row has a run
// of channels, in NCHW, whose planes are images of their own, one of a single element.

#ifndef DTNN_KERNELS_ELEMENTWISE_ROWS_OF_IMAGES_H_
#define DTNN_KERNELS_ELEMENTWISE_ROWS_OF_IMAGES_H_

#include <cstdint>

#include "kernels/gpu/images.h"
#include "tensor/format.h"
#include "tensor/tensor.h"

namespace dtnn {

template <typename T>
struct RowsOfImages {
  ImageView<T> view;
  int64_t planes, run;  // of an image; elements of a pixel

  static RowsOfImages Of(const Tensor& image, int64_t channels, TensorFormat format) {
    const bool last = format == TensorFormat::kNHWC;
    return {ImageView<T>::Of(image, format), last ? 1 : channels, last ? channels : 1};
  }
  // Planes are numbered image by image. Pixels of a row are `view.pixel` apart.
  T* Row(int64_t plane, int64_t row) const {
    return view.data + plane / planes * view.image + plane % planes * view.channel + row * view.row;
  }
};

}  // namespace dtnn

#endif  // DTNN_KERNELS_ELEMENTWISE_ROWS_OF_IMAGES_H_
