// Blocks of products of bfloat16 as tiles have them (products.h), where a CPU has no tiles: dot
// products of pairs in vectors, vdpbf16ps of AVX512-BF16 (Cooper Lake, Zen 4 and later). `Dots` is
// what a kernel over tiles takes in their place; both read the same packed operands.
//
// A sum is one chain over its pairs, in order: sum += a[1] * b[1], then sum += a[0] * b[0], fused
// multiply-adds. Operands and results that are denormal become zero, and rounding is to nearest,
// whatever the mode of the thread (Intel's manual, volume 2, VDPBF16PS). Only the rows that are
// wanted are computed.

#ifndef DTNN_KERNELS_AMX_DOTS_H_
#define DTNN_KERNELS_AMX_DOTS_H_

#include <cstdint>

#include "kernels/amx/products.h"
#include "kernels/amx/tiles.h"
#include "tensor/float16.h"

namespace dtnn {
namespace tile {

// The operands of MultiplyBlock, for `panels` of 16 columns, 1 or 2.
struct DotBlock {
  const Bfloat16* a = nullptr;
  int64_t a_pitch = 0;  // in bytes
  const Bfloat16* b = nullptr;
  int64_t b_pitch = 0;
  const Step* steps = nullptr;
  int64_t step_count = 0;
  int64_t pairs = 0;  // of a step
  int64_t rows = 0;
  int panels = 1;
  bool add = false;
  float* sums = nullptr;
};

// In plain C++, and with the instruction, where there is no DotRefusal (amx.h): the same bits.
void MultiplyDotsPlainly(const DotBlock& block);
void MultiplyDotsInVectors(const DotBlock& block);

}  // namespace tile

template <bool kVectors>
class Dots {
 public:
  static constexpr bool kHardware = kVectors;

  void Configure(const TileShapes& shapes) { pairs_ = shapes.rows[6]; }
  void Release() {}
  int64_t pairs() const { return pairs_; }

 private:
  int64_t pairs_ = 0;
};
using HardwareDots = Dots<true>;
using EmulatedDots = Dots<false>;

namespace tile {

template <int kRows, int kColumns, bool kAdd = false, bool kVectors>
void MultiplyBlock(Dots<kVectors>& dots, const Bfloat16* a, int64_t a_pitch, const Bfloat16* b,
                   int64_t b_pitch, const Step* steps, int64_t count, int64_t rows, float* sums) {
  const DotBlock block = {.a = a,
                          .a_pitch = a_pitch,
                          .b = b,
                          .b_pitch = b_pitch,
                          .steps = steps,
                          .step_count = count,
                          .pairs = dots.pairs(),
                          .rows = rows,
                          .panels = kColumns,
                          .add = kAdd,
                          .sums = sums};
  kVectors ? MultiplyDotsInVectors(block) : MultiplyDotsPlainly(block);
}

}  // namespace tile
}  // namespace dtnn

#endif  // DTNN_KERNELS_AMX_DOTS_H_
