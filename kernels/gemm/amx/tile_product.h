// Products of matrices of bfloat16 in tiles: C = op(A) * op(B), with an epilogue in the write-back.
//
// The rows of tiles are those of op(A), where they are; pairs of rows of op(B) are interleaved, 32
// columns and some depth at a time, into the L1 cache. If B is transposed, the product of B and
// op(A) transposed is computed instead: B, the weights of a layer, is then read where it is, and
// sums are transposed when they are written. Only rows whose depth does not lie side by side are
// packed as a whole, those of x in the gradient x^T dy of weights.
//
// A result is summed over slices of the depth in order, on any number of threads.

#ifndef DTNN_KERNELS_GEMM_AMX_TILE_PRODUCT_H_
#define DTNN_KERNELS_GEMM_AMX_TILE_PRODUCT_H_

#include <cstddef>
#include <cstdint>

#include "kernels/amx/write_back.h"
#include "tensor/float16.h"

namespace dtnn {

// Tiles: HardwareTiles, HardwareDots, or an emulation of one of them.
template <class Tiles>
class TileProduct {
 public:
  struct Matrix {
    const Bfloat16* data = nullptr;
    int64_t pitch = 0;
  };
  struct Call {
    int64_t m = 0, n = 0, k = 0;  // at most those that it was made for
    Matrix a, b;
    // The rows of C, with everything from its first row and column on.
    tile::RowsOfResults c;
    std::byte* workspace = nullptr;
  };

  TileProduct(int64_t m, int64_t n, int64_t k, bool transpose_a, bool transpose_b);

  size_t workspace_bytes() const { return Divide(nullptr, m_, n_, k_).bytes; }
  void Run(const Call& call) const;

 private:
  struct Own {  // one thread's
    Bfloat16* columns;
    float *sums, *transposed;
    size_t bytes;
  };
  struct Memory {
    Bfloat16* rows;         // all of them, packed
    Bfloat16 *rest, *last;  // or what tiles cannot read where it is: see PackRest
    std::byte* threads;
    size_t bytes;
  };
  // What is multiplied: rows times columns, over a depth.
  struct Problem {
    const Call& call;
    int64_t rows, columns, depth;
    Matrix of_rows, of_columns;
    Memory memory;
  };

  // Whether rows and columns have changed places, and where the depth does not lie side by side.
  bool exchanged() const { return transpose_b_; }
  bool packs_rows() const { return transpose_a_ && !exchanged(); }
  bool columns_lie_apart() const { return exchanged() ? transpose_a_ : true; }

  Own DivideOwn(std::byte* memory) const;
  Memory Divide(std::byte* workspace, int64_t m, int64_t n, int64_t k) const;
  void PackRows(const Problem& problem) const;
  void PackRest(const Problem& problem) const;
  void PackColumns(const Problem& problem, int64_t column, int64_t first, int64_t size,
                   Bfloat16* to) const;
  void RunItem(Tiles& tiles, const Problem& problem, int64_t item, const Own& own) const;
  template <int kColumns>
  void MultiplyRows(Tiles& tiles, const Problem& problem, int64_t row, int64_t row_end,
                    int64_t first, int64_t steps, const Bfloat16* columns, float* sums) const;
  void Write(const Problem& problem, const float* sums, int64_t row, int64_t column,
             float* transposed) const;

  int64_t m_, n_, k_;
  bool transpose_a_, transpose_b_;
  int threads_;
};

}  // namespace dtnn

#endif  // DTNN_KERNELS_GEMM_AMX_TILE_PRODUCT_H_
