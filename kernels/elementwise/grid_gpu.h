// operands.h for device code: where the elements of a pitched tensor lie.

#ifndef DTNN_KERNELS_ELEMENTWISE_GRID_GPU_H_
#define DTNN_KERNELS_ELEMENTWISE_GRID_GPU_H_

#include <cstdint>
#include <type_traits>

#include "kernels/elementwise/operands.h"
#include "kernels/gpu/runner.h"

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

// The same grid, for passes in vectors.
inline gpu::VectorExtents ExtentsOf(const RowGrid& grid) {
  return grid.rows == 1 ? gpu::VectorExtents::Flat(grid.columns)
                        : gpu::VectorExtents::Rows(grid.rows, grid.columns);
}
template <typename T, int kLanes>
gpu::VectorView<T, kLanes> VectorsIn(const RowGrid& grid, const Tensor& tensor,
                                     TensorFormat format) {
  const Operand operand = OperandIn(grid, tensor, format);
  T* const data = static_cast<T*>(operand.data);
  if (grid.rows == 1) return gpu::VectorView<T, kLanes>::Flat(data);
  return {data, operand.pitch};
}
// use.template operator()<kLanes>() for what all tensors allow.
template <typename T, class Tensors, class Use>
absl::Status WithGridVectors(const RowGrid& grid, TensorFormat format, const Tensors& tensors,
                             const Use& use) {
  bool full = grid.columns % gpu::kFullVector<T> == 0;
  for (const Tensor* tensor : tensors) {
    const Operand operand = OperandIn(grid, *tensor, format);
    full = full && gpu::AllowsFullVectors<T>(operand.data, grid.rows, operand.pitch);
  }
  return full ? use.template operator()<gpu::kFullVector<T>>() : use.template operator()<1>();
}

inline GridIndex IndexOf(const RowGrid& grid) { return {grid.rows, grid.columns}; }

template <typename T>
GridView<T> ViewIn(const RowGrid& grid, const Tensor& tensor, TensorFormat format) {
  const Operand operand = OperandIn(grid, tensor, format);
  return {static_cast<T*>(operand.data), operand.pitch};
}

}  // namespace dtnn

#endif  // DTNN_KERNELS_ELEMENTWISE_GRID_GPU_H_
