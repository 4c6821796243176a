// An activation as rows of contiguous elements, the form in which elementwise kernels walk any
// pitched tensor: `rows` rows of `columns` elements, the next row `pitch` elements later.
//   NHWC image: a row is a pixel; NCHW image: an image; matrix: a row. A dense tensor is one row.

#ifndef DTNN_KERNELS_OPERANDS_ROWS_H_
#define DTNN_KERNELS_OPERANDS_ROWS_H_

#include <cstdint>

#include "tensor/tensor.h"

namespace dtnn {

struct Rows {
  int64_t rows, columns, pitch;
};

inline Rows RowsOf(const Tensor& x, TensorFormat format) {
  const Shape& shape = x.shape();
  if (x.dense()) return {1, x.num_elements(), x.num_elements()};
  if (shape.rank() == 4 && format == TensorFormat::kNCHW) {
    return {shape[0], shape[1] * shape[2] * shape[3], x.ImagePitch()};
  }
  const int64_t columns = shape[shape.rank() - 1];
  return {columns == 0 ? 0 : x.num_elements() / columns, columns, x.PixelPitch()};
}

}  // namespace dtnn

#endif  // DTNN_KERNELS_OPERANDS_ROWS_H_
