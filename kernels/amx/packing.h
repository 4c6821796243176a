// Matrices of bfloat16 as operands of products. A pixel is a row of a matrix, or what lies in a row
// of an image: pairs of neighbouring pixels, channel by channel, and the same transposed.

#ifndef DTNN_KERNELS_AMX_PACKING_H_
#define DTNN_KERNELS_AMX_PACKING_H_

#include <cstdint>

#include "tensor/float16.h"

namespace dtnn::tile {

// Where `count` pixels are, a multiple of 2, to transpose of 32; their channels lie side by side.
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

// to[(k / 2) * 32 + j * 2 + k % 2] = rows[j][k] for 16 rows and k < depth; zeros for a row that is
// null, and for k from `depth` up to `padded`, which is even.
void PackRowPairsPlainly(const Bfloat16* const* rows, int64_t depth, int64_t padded, Bfloat16* to);
void PackRowPairsInVectors(const Bfloat16* const* rows, int64_t depth, int64_t padded,
                           Bfloat16* to);

// Blocks of 16 x 16 sums: to[j * to_pitch + i] = from[i * from_pitch + j].
void TransposeSumsPlainly(const float* from, int64_t from_pitch, float* to, int64_t to_pitch);
void TransposeSumsInVectors(const float* from, int64_t from_pitch, float* to, int64_t to_pitch);

}  // namespace dtnn::tile

#endif  // DTNN_KERNELS_AMX_PACKING_H_
