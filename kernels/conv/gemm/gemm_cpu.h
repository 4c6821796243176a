// The inner loops of variant gemm, for the best instruction set of this machine.
//
// Both products keep a block of `rows` x (1 or 2 vectors) sums in registers. Patches are never
// copied together: a row of the patch matrix is a list of pointers, one per kernel tap, to the
// contiguous channels of one pixel (or to zeros in the padding).
//
// An output element is one chain of fused multiply-adds in the order of taps and depth, whatever
// the block it is computed in, so results do not depend on how the work is divided.

#ifndef DTNN_KERNELS_CONV_GEMM_GEMM_CPU_H_
#define DTNN_KERNELS_CONV_GEMM_GEMM_CPU_H_

#include <cstdint>

namespace dtnn::conv::gemm {

inline constexpr int kMaxRows = 12;

// Some output pixels, and where their patches are.
template <typename T>
struct Tile {
  int rows = 0;
  int64_t segments = 0;            // taps that touch the input at all
  const T** pointers = nullptr;    // [segment][kMaxRows]: `depth` elements each
  int64_t* offsets = nullptr;      // [segment]: first row of the packed filter
  T* out[kMaxRows] = {};           // column 0 of each pixel
  const T* addend[kMaxRows] = {};  // or null
};

// One or two vectors of output columns: rows of `width` packed filter elements, one per patch
// element.
template <typename T>
struct Panel {
  const T* filter = nullptr;
  int64_t width = 0;         // a multiple of the vector, at most two
  int64_t columns = 0;       // that exist, <= width
  int64_t column = 0;        // the first one
  int64_t depth = 0;         // length of a segment
  const T* scale = nullptr;  // of this panel, padded to `width`; or null
  const T* bias = nullptr;
  bool relu = false;
};

// A block of the filter's gradient: out[i][j] (+)= sum over p of x[p][x_offset + i] *
// dy[p][dy_offset + j] for i < rows and j < width.
template <typename T>
struct FilterBlock {
  const T* const* x = nullptr;
  const T* const* dy = nullptr;
  int64_t pixels = 0;
  int64_t x_offset = 0, dy_offset = 0;
  int rows = 0;
  int64_t width = 0;
  T* out = nullptr;
  int64_t pitch = 0;
  bool accumulate = false;
};

template <typename T>
struct Kernels {
  int64_t lanes;  // elements of a vector
  int max_rows;   // of a tile or filter block, <= kMaxRows
  void (*tiles)(const Tile<T>* tiles, int64_t count, const Panel<T>& panel);
  void (*filter_block)(const FilterBlock<T>& block);
  // sums[j] += x[p * pitch + j] for p < rows in order.
  void (*add_rows)(const T* x, int64_t rows, int64_t columns, int64_t pitch, T* sums);
};

template <typename T>
const Kernels<T>& CpuKernels();

}  // namespace dtnn::conv::gemm

#endif  // DTNN_KERNELS_CONV_GEMM_GEMM_CPU_H_
