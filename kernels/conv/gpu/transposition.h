// Matrices transposed on a GPU, tile by tile through shared memory, so that threads beside each
// other read and write elements beside each other. Filters change their order of axes so. For .cu
// files.

#ifndef DTNN_KERNELS_CONV_GPU_TRANSPOSITION_H_
#define DTNN_KERNELS_CONV_GPU_TRANSPOSITION_H_

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "absl/status/status.h"
#include "kernels/gpu/runner.h"
#include "tensor/float16.h"
#include "tensor/gpu/launch.h"
#include "tensor/rounding.h"

namespace dtnn::conv {

// to[b][c][r] = from[b][r][c], by steps in elements; the columns of `from` and the rows of `to` lie
// side by side. Together the matrices fill the memory from the first element to the last.
struct Transposition {
  int64_t batch = 1, rows = 0, columns = 0;
  int64_t from_batch = 0, from_row = 0;
  int64_t to_batch = 0, to_column = 0;

  // From (a, b, c) to (c, b, a): a matrix for each b.
  static Transposition OfReversal(int64_t a, int64_t b, int64_t c) {
    return {b, a, c, c, b * c, a, b * a};
  }
  // From (a, b, c) to (a, c, b).
  static Transposition OfLast(int64_t a, int64_t b, int64_t c) {
    return {a, b, c, b * c, c, b * c, b};
  }
  Transposition Inverse() const {
    return {batch, columns, rows, to_batch, to_column, from_batch, from_row};
  }
  int64_t size() const { return batch * rows * columns; }
};

struct TransposedTile {
  static constexpr int kSide = 64;
  static constexpr int kThreads = 256;
  static constexpr int kRowsAtOnce = kThreads / kSide;
  // A tile is held in the smaller of the two types.
  template <typename From, typename To>
  using Held = std::conditional_t<(sizeof(From) < sizeof(To)), From, To>;
  // Elements from row to row: threads that read a column find each its own bank.
  template <typename T>
  static constexpr int kPitch = kSide + (sizeof(T) == 2 ? 2 : 1);
  template <typename T>
  static constexpr size_t kBytes = sizeof(T) * kSide* kPitch<T>;

  // By the threads of a block, all of which call it, for at most kSide rows and columns:
  // to[c * to_column + r] = (accumulate ? itself : 0) + from[r * from_row + c].
  template <class Thread, typename From, typename To>
  DTNN_HOST_DEVICE static void Run(const Thread& thread, int rows, int columns, const From* from,
                                   int64_t from_row, To* to, int64_t to_column, bool accumulate) {
    using T = Held<From, To>;
    T* const tile = thread.template Shared<T>();
    const int x = int(thread.thread_index().x) % kSide, y = int(thread.thread_index().x) / kSide;
    if (x < columns) {
      const From* next = from + y * from_row + x;
      for (int row = y; row < rows; row += kRowsAtOnce, next += kRowsAtOnce * from_row) {
        tile[row * kPitch<T> + x] = T(*next);
      }
    }
    thread.Barrier();
    if (x < rows) {
      To* next = to + y * to_column + x;
      for (int column = y; column < columns;
           column += kRowsAtOnce, next += kRowsAtOnce * to_column) {
        const auto value = Wide<T>(tile[x * kPitch<T> + column]);
        *next = To(accumulate ? Wide<To>(*next) + value : Wide<To>(value));
      }
    }
  }
};

template <typename From, typename To>
struct TransposeKernel {
  static constexpr uint32_t kThreads = TransposedTile::kThreads;
  static constexpr gpu::Cooperation kCooperation = gpu::Cooperation::kBlock;

  Transposition shape;
  bool accumulate;
  const From* from;
  To* to;

  void Declare(gpu::Accesses& accesses) {
    accesses.Reads(from, shape.size());
    accesses.Writes(to, shape.size());
  }
  template <class Thread>
  DTNN_HOST_DEVICE void operator()(const Thread& thread) const {
    constexpr int64_t kSide = TransposedTile::kSide;
    const gpu::Dim3 block = thread.block_index(), grid = thread.grid();
    const int64_t column = block.x * kSide;
    for (int64_t b = block.z; b < shape.batch; b += grid.z) {
      for (int64_t row = block.y * kSide; row < shape.rows; row += grid.y * kSide) {
        TransposedTile::Run(
            thread, int(Least(kSide, shape.rows - row)), int(Least(kSide, shape.columns - column)),
            from + b * shape.from_batch + row * shape.from_row + column, shape.from_row,
            to + b * shape.to_batch + column * shape.to_column + row, shape.to_column, accumulate);
        thread.Barrier();
      }
    }
  }
  DTNN_HOST_DEVICE static int64_t Least(int64_t a, int64_t b) { return a < b ? a : b; }
};

// Queues to = (accumulate ? to : 0) + from, transposed.
template <typename From, typename To>
absl::Status Transpose(const GpuRunner& runner, std::string_view what, const Transposition& shape,
                       bool accumulate, const From* from, To* to) {
  using T = TransposedTile::Held<From, To>;
  constexpr int64_t kSide = TransposedTile::kSide, kMostBlocks = 65535;  // along y and z
  const gpu::Dim3 grid = {uint32_t(CeilDiv(shape.columns, kSide)),
                          uint32_t(std::min(CeilDiv(shape.rows, kSide), kMostBlocks)),
                          uint32_t(std::min(shape.batch, kMostBlocks))};
  return runner.context().stream().Launch(
      gpu::KernelOf(what, grid, {TransposedTile::kThreads}, TransposedTile::kBytes<T>,
                    TransposeKernel<From, To>{shape, accumulate, from, to}));
}

}  // namespace dtnn::conv

#endif  // DTNN_KERNELS_CONV_GPU_TRANSPOSITION_H_
