// operands.h for device code: where the elements of a pitched tensor lie.

#ifndef DTNN_KERNELS_ELEMENTWISE_GRID_CUDA_H_
#define DTNN_KERNELS_ELEMENTWISE_GRID_CUDA_H_

#include <cstdint>

#include "kernels/cuda_launch.h"
#include "kernels/elementwise/operands.h"

namespace dtnn {

struct GridCell {
  int64_t row, column;
};

// The place in the grid of the i-th element, counted row by row.
struct GridIndex {
  int64_t rows, columns;

  DTNN_HOST_DEVICE GridCell operator()(int64_t i) const {
    if (rows == 1) return {0, i};  // dense tensors: no division
    return {i / columns, i % columns};
  }
};

template <typename T>
struct GridView {
  T* data;
  int64_t pitch;

  DTNN_HOST_DEVICE T& operator[](GridCell cell) const {
    return data[cell.row * pitch + cell.column];
  }
};

inline GridIndex IndexOf(const RowGrid& grid) { return {grid.rows, grid.columns}; }

template <typename T>
GridView<T> ViewIn(const RowGrid& grid, const Tensor& tensor, TensorFormat format) {
  const Operand operand = OperandIn(grid, tensor, format);
  return {static_cast<T*>(operand.data), operand.pitch};
}

}  // namespace dtnn

#endif  // DTNN_KERNELS_ELEMENTWISE_GRID_CUDA_H_
