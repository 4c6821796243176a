// The inner product of the kernels in 8 bits: rows of pixels times columns of filters, on operands
// that every instruction set reads in the same order.
//
// A pixel's operands are steps: bytes side by side, some channels of a tap or the taps of a row of
// the kernel, read as quads of 4 bytes: 4 uint8, or 2 int16 for instruction sets that only multiply
// these. A panel holds 16 filters: for each step and quad, 16 quads of int8 (or int16). Bytes of a
// step beyond the taps meet zeros in the panel.

#ifndef DTNN_KERNELS_INT8_PRODUCTS_H_
#define DTNN_KERNELS_INT8_PRODUCTS_H_

#include <cstddef>
#include <cstdint>

#include "kernels/int8/level.h"
#include "kernels/int8/write_back.h"

namespace dtnn::int8 {

inline constexpr int kPanelFilters = 16, kQuadBytes = 4;
inline constexpr int kPanels = 2;  // at most, of a block of sums
inline constexpr int kBlockFilters = kPanels * kPanelFilters;
inline constexpr int kMostRows = 32;
inline constexpr int kMostDepth = 64;  // bytes of a step: those of a row of a tile

// Where a step begins, in bytes from the pixel and from the panel on.
struct Step {
  int64_t pixel = 0, panel = 0;
};

struct Products {
  const std::byte* pixels = nullptr;  // the block's first
  int64_t pixel_step = 0;             // bytes from one to the next
  const Step* steps = nullptr;
  int64_t step_count = 0;  // 0: sums are 0
  int depth = 0;           // bytes of a step
  const std::byte* panels = nullptr;
  int64_t panel_bytes = 0;  // from one to the next
  int panel_count = 1;
  int rows = 0;             // 1 or more, up to the kernel's
  int32_t* sums = nullptr;  // [rows][kBlockFilters], overwritten
};

struct ProductKernel {
  int rows = 0;             // pixels of a block, at most
  bool fewer_rows = false;  // takes less time for fewer, and reads and writes only these
  int element_bytes = 1;    // 2: operands are int16
  // What the bytes of a tap must be a multiple of, so that a step of this tap alone is no slower.
  int tap_bytes = kQuadBytes;
  int speed = 1;  // of its products, as a multiple of vectors'
  // A thread's call before its first product of this depth, and after its last.
  void (*begin)(int depth) = nullptr;
  void (*multiply)(const Products& products) = nullptr;
  // Writes bytes instead of sums, from registers; null: cannot. `results.sums` is not read.
  void (*multiply_to)(const Products& products, const ResultRule& rule,
                      const ResultRows& results) = nullptr;
  void (*end)() = nullptr;
};

const ProductKernel& KernelOf(Int8Level level);

// The kernel of each level.
const ProductKernel& VectorProducts();
const ProductKernel& AvxVnniProducts();
const ProductKernel& Avx512VnniProducts();
const ProductKernel& TileProducts();
const ProductKernel& EmulatedTileProducts();

}  // namespace dtnn::int8

#endif  // DTNN_KERNELS_INT8_PRODUCTS_H_
