// operands.h for device code: where the elements of a pitched tensor lie.

#ifndef DTNN_KERNELS_ELEMENTWISE_GRID_GPU_H_
#define DTNN_KERNELS_ELEMENTWISE_GRID_GPU_H_

#include <cstdint>
#include <type_traits>

#include "kernels/elementwise/operands.h"
#include "kernels/gpu_runner.h"

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
  // A pass over all cells: constant elements are read, others written.
  void Declare(const GridIndex& index, gpu::Accesses& accesses) {
    if constexpr (std::is_const_v<T>) {
      accesses.Reads(data, index.rows, index.columns, pitch);
    } else {
      accesses.Writes(data, index.rows, index.columns, pitch);
    }
  }
};

inline GridIndex IndexOf(const RowGrid& grid) { return {grid.rows, grid.columns}; }

template <typename T>
GridView<T> ViewIn(const RowGrid& grid, const Tensor& tensor, TensorFormat format) {
  const Operand operand = OperandIn(grid, tensor, format);
  return {static_cast<T*>(operand.data), operand.pitch};
}

}  // namespace dtnn

#endif  // DTNN_KERNELS_ELEMENTWISE_GRID_GPU_H_
