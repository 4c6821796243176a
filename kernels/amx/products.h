// Blocks of sums of products in tiles: rows of pixels times columns of the packed filter.

#ifndef DTNN_KERNELS_AMX_PRODUCTS_H_
#define DTNN_KERNELS_AMX_PRODUCTS_H_

#include <cstdint>
#include <type_traits>

#include "kernels/amx/tiles.h"
#include "tensor/float16.h"

namespace dtnn::tile {

// A product of a tile of rows and one of columns: offsets from the block's first row, and from the
// panel's beginning, in elements.
struct Step {
  int64_t rows, columns;
};

// Calls use(tile, element of the sums) for the tiles of a block's sums, a type each, whose rows lie
// side by side.
template <int kRows, int kColumns, class Use>
inline __attribute__((always_inline)) void ForEachSum(const Use& use) {
  constexpr int kTileFloats = kTileRows * 16 * kColumns;
  use(std::integral_constant<int, 0>(), 0);
  if constexpr (kColumns == 2) {
    use(std::integral_constant<int, 1>(), 16);
    if constexpr (kRows == 2) {
      use(std::integral_constant<int, 2>(), kTileFloats);
      use(std::integral_constant<int, 3>(), kTileFloats + 16);
    }
  } else {
    if constexpr (kRows > 1) use(std::integral_constant<int, 1>(), kTileFloats);
    if constexpr (kRows > 2) use(std::integral_constant<int, 2>(), 2 * kTileFloats);
    if constexpr (kRows > 3) use(std::integral_constant<int, 3>(), 3 * kTileFloats);
  }
}

// Tiles as ProductShapes(depth) has them. `a`: rows, `a_pitch` bytes apart; `b`: panels of 16
// columns, `b_pitch` elements apart. Writes 16 * kRows rows of 16 * kColumns sums side by side, of
// which `rows` are wanted; with kAdd, it adds to those that are there.
template <int kRows, int kColumns, bool kAdd = false, class Tiles>
inline __attribute__((always_inline)) void MultiplyBlock(Tiles& tiles, const Bfloat16* a,
                                                         int64_t a_pitch, const Bfloat16* b,
                                                         int64_t b_pitch, const Step* steps,
                                                         int64_t count, int64_t /*rows*/,
                                                         float* sums) {
  static_assert(kRows * kColumns <= 4 && kColumns <= 2);
  constexpr int64_t kPitch = kColumns * 16 * sizeof(float);
  ForEachSum<kRows, kColumns>([&](auto tile, int at) __attribute__((always_inline)) {
    if constexpr (kAdd) {
      tiles.template Load<tile>(sums + at, kPitch);
    } else {
      tiles.template Zero<tile>();
    }
  });
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
  ForEachSum<kRows, kColumns>([&](auto tile, int at) __attribute__((always_inline)) {
    tiles.template Store<tile>(sums + at, kPitch);
  });
}

}  // namespace dtnn::tile

#endif  // DTNN_KERNELS_AMX_PRODUCTS_H_
