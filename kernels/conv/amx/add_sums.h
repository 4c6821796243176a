// Sums of blocks, added to those of the gradient of a filter, and sums of the pixels of dy.

#ifndef DTNN_KERNELS_CONV_AMX_ADD_SUMS_H_
#define DTNN_KERNELS_CONV_AMX_ADD_SUMS_H_

#include <cstdint>

#include "tensor/float16.h"

namespace dtnn::conv::amx {

// `rows` rows of `columns`, at most 32.
struct BlockSums {
  const float* data = nullptr;
  int64_t rows = 0, columns = 0, pitch = 0;
};

bool HasNaNPlainly(const BlockSums& sums);
bool HasNaNInVectors(const BlockSums& sums);
// to[row * pitch + column] = (add ? what it was : 0) + the sum.
void AddBlockPlainly(const BlockSums& sums, bool add, float* to, int64_t pitch);
void AddBlockInVectors(const BlockSums& sums, bool add, float* to, int64_t pitch);

// to[f] += the sum of `count` pixels, a multiple of 8, of 16 filters in pairs of pixels
// (packing.h), in 8 chains that are then added in order.
void AddPairsPlainly(const Bfloat16* pairs, int64_t count, float* to);
void AddPairsInVectors(const Bfloat16* pairs, int64_t count, float* to);

}  // namespace dtnn::conv::amx

#endif  // DTNN_KERNELS_CONV_AMX_ADD_SUMS_H_
