// Pixels of bfloat16 as the two operands of a product over pixels: pairs of neighbouring pixels,
// channel by channel, and the same transposed.

#ifndef DTNN_KERNELS_CONV_AMX_PACKING_H_
#define DTNN_KERNELS_CONV_AMX_PACKING_H_

#include <cstdint>

#include "tensor/float16.h"

namespace dtnn::conv::amx {

// `pixels` pixels, `step` elements apart, of at most 16 channels that lie side by side.
struct Pixels {
  const Bfloat16* data = nullptr;
  int64_t step = 0;
  int64_t pixels = 0;
  int channels = 0;
};

// to[i / 2][channel][i % 2] = pixel i, 32 elements a pair: a panel of 16 channels. Channels that
// are missing, and the second pixel of the last pair, are zero.
void PackPairsPlainly(const Pixels& from, Bfloat16* to);
void PackPairsInVectors(const Pixels& from, Bfloat16* to);

// to[channel * to_step + i] = pixel i. Rows of channels that are missing are not written.
void TransposePlainly(const Pixels& from, Bfloat16* to, int64_t to_step);
void TransposeInVectors(const Pixels& from, Bfloat16* to, int64_t to_step);

}  // namespace dtnn::conv::amx

#endif  // DTNN_KERNELS_CONV_AMX_PACKING_H_
