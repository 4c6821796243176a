// Pixels of bfloat16 as the two operands of a product over pixels: pairs of neighbouring pixels,
// channel by channel, and the same transposed.

#ifndef DTNN_KERNELS_CONV_AMX_PACKING_H_
#define DTNN_KERNELS_CONV_AMX_PACKING_H_

#include <cstdint>

#include "tensor/float16.h"

namespace dtnn::conv::amx {

// Where `count` pixels are, a multiple of 32; their channels lie side by side.
struct Pixels {
  const Bfloat16* const* at = nullptr;
  int64_t count = 0, channels = 0;
};

// to[(channel / 16) * panel + (i / 2) * 32 + (channel % 16) * 2 + i % 2] = pixel i; channels that
// the last panel misses are zero.
void PackPairsPlainly(const Pixels& from, Bfloat16* to, int64_t panel);
void PackPairsInVectors(const Pixels& from, Bfloat16* to, int64_t panel);

// to[channel * to_step + i] = pixel i, likewise.
void TransposePlainly(const Pixels& from, Bfloat16* to, int64_t to_step);
void TransposeInVectors(const Pixels& from, Bfloat16* to, int64_t to_step);

}  // namespace dtnn::conv::amx

#endif  // DTNN_KERNELS_CONV_AMX_PACKING_H_
