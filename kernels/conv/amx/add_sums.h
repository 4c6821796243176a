// Sums of blocks and of pairs of pixels, added to those of the gradient of a filter.

#ifndef DTNN_KERNELS_CONV_AMX_ADD_SUMS_H_
#define DTNN_KERNELS_CONV_AMX_ADD_SUMS_H_

#include <cstdint>

#include "tensor/float16.h"

namespace dtnn::conv::amx {

// `rows` rows of `columns`, which is a multiple of 16, side by side.
struct BlockSums {
  const float* data = nullptr;
  int64_t rows = 0, columns = 0;
};

bool HasNaNPlainly(const BlockSums& sums);
bool HasNaNInVectors(const BlockSums& sums);
// to[row * pitch + column] = (add ? what it was : 0) + the sum.
void AddBlockPlainly(const BlockSums& sums, bool add, float* to, int64_t pitch);
void AddBlockInVectors(const BlockSums& sums, bool add, float* to, int64_t pitch);

// to[channel] += the pairs[i][channel][0 and 1], of a panel of 16 channels (packing.h): the first
// and the second ones apart, a few hundred at a time.
void AddPairsPlainly(const Bfloat16* pairs, int64_t count, float* to);
void AddPairsInVectors(const Bfloat16* pairs, int64_t count, float* to);

}  // namespace dtnn::conv::amx

#endif  // DTNN_KERNELS_CONV_AMX_ADD_SUMS_H_
