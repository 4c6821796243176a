// How the threads of a product divide C: into a grid of parts, of which each thread computes one.

#ifndef DTNN_KERNELS_GEMM_GEMM_GRID_H_
#define DTNN_KERNELS_GEMM_GEMM_GRID_H_

#include <cstdint>

#include "tensor/rounding.h"

namespace dtnn {

struct GemmGrid {
  int64_t row_parts = 1, column_parts = 1;
  int64_t rows = 0, columns = 0;  // of a part
};

// The grid of at most `threads` parts whose largest part takes least: its area, and along its edges
// the lines of A and B that each part reads (and may pack) for itself. It may have fewer parts than
// threads, where these do not divide C well: of 64 x 512, 3 x 2 parts of 22 x 256 take less than 7
// of 10 x 512, with their edges. Any grid gives the same bits.
inline GemmGrid ChooseGemmGrid(int64_t m, int64_t n, int64_t threads) {
  constexpr int64_t kRowGrain = 2, kColumnGrain = 32, kEdge = 4;
  GemmGrid best = {1, 1, m, n};
  int64_t best_cost = m * n + kEdge * (m + n);
  for (int64_t row_parts = 1; row_parts <= threads; ++row_parts) {
    GemmGrid grid = {row_parts, threads / row_parts, 0, 0};
    grid.rows = RoundUp(CeilDiv(m, grid.row_parts), kRowGrain);
    grid.columns = RoundUp(CeilDiv(n, grid.column_parts), kColumnGrain);
    const int64_t cost = grid.rows * grid.columns + kEdge * (grid.rows + grid.columns);
    if (cost < best_cost) {
      best = grid;
      best_cost = cost;
    }
  }
  return best;
}

}  // namespace dtnn

#endif  // DTNN_KERNELS_GEMM_GEMM_GRID_H_
