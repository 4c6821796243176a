// Blocks of sums of products in tiles: rows of pixels times columns of the packed filter.

#ifndef DTNN_KERNELS_CONV_AMX_PRODUCTS_H_
#define DTNN_KERNELS_CONV_AMX_PRODUCTS_H_

#include <cstdint>

#include "kernels/amx/tiles.h"
#include "tensor/float16.h"

namespace dtnn::conv::amx {

// A product of a tile of rows and one of columns: offsets from the block's first row, and from the
// panel's beginning, in elements.
struct Step {
  int64_t rows, columns;
};

// Tiles as ProductShapes(depth) has them. `a`: rows, `a_pitch` bytes apart; `b`: panels of 16
// columns, `b_pitch` elements apart. Writes 16 * kRows rows of 16 * kColumns sums side by side.
template <int kRows, int kColumns, class Tiles>
inline __attribute__((always_inline)) void MultiplyBlock(Tiles& tiles, const Bfloat16* a,
                                                         int64_t a_pitch, const Bfloat16* b,
                                                         int64_t b_pitch, const Step* steps,
                                                         int64_t count, float* sums) {
  static_assert(kRows * kColumns <= 4 && kColumns <= 2);
  tiles.template Zero<0>();
  tiles.template Zero<1>();
  tiles.template Zero<2>();
  tiles.template Zero<3>();
  const int64_t a_tile = kTileRows * a_pitch / int64_t(sizeof(Bfloat16));
  for (const Step* step = steps; step != steps + count; ++step) {
    const Bfloat16* const rows = a + step->rows;
    const Bfloat16* const columns = b + step->columns;
    tiles.template Load<6>(columns, kTileBytes);
    tiles.template Load<4>(rows, a_pitch);
    tiles.template Multiply<0, 4, 6>();
    if constexpr (kColumns == 2) {
      tiles.template Load<7>(columns + b_pitch, kTileBytes);
      tiles.template Multiply<1, 4, 7>();
      if constexpr (kRows == 2) {
        tiles.template Load<5>(rows + a_tile, a_pitch);
        tiles.template Multiply<2, 5, 6>();
        tiles.template Multiply<3, 5, 7>();
      }
    } else {
      if constexpr (kRows > 1) {
        tiles.template Load<5>(rows + a_tile, a_pitch);
        tiles.template Multiply<1, 5, 6>();
      }
      if constexpr (kRows > 2) {
        tiles.template Load<4>(rows + 2 * a_tile, a_pitch);
        tiles.template Multiply<2, 4, 6>();
      }
      if constexpr (kRows > 3) {
        tiles.template Load<5>(rows + 3 * a_tile, a_pitch);
        tiles.template Multiply<3, 5, 6>();
      }
    }
  }
  constexpr int64_t kPitch = kColumns * 16 * sizeof(float);
  constexpr int kTileFloats = kTileRows * 16 * kColumns;
  tiles.template Store<0>(sums, kPitch);
  if constexpr (kColumns == 2) {
    tiles.template Store<1>(sums + 16, kPitch);
    if constexpr (kRows == 2) {
      tiles.template Store<2>(sums + kTileFloats, kPitch);
      tiles.template Store<3>(sums + kTileFloats + 16, kPitch);
    }
  } else {
    if constexpr (kRows > 1) tiles.template Store<1>(sums + kTileFloats, kPitch);
    if constexpr (kRows > 2) tiles.template Store<2>(sums + 2 * kTileFloats, kPitch);
    if constexpr (kRows > 3) tiles.template Store<3>(sums + 3 * kTileFloats, kPitch);
  }
}

}  // namespace dtnn::conv::amx

#endif  // DTNN_KERNELS_CONV_AMX_PRODUCTS_H_
