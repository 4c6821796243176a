// Sums of blocks, added to those of the gradient of a filter, and sums of the pixels of dy.

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

// The sum of `count` numbers, a multiple of 32, in 32 chains that are then added in order.
float SumPlainly(const Bfloat16* numbers, int64_t count);
float SumInVectors(const Bfloat16* numbers, int64_t count);

}  // namespace dtnn::conv::amx

#endif  // DTNN_KERNELS_CONV_AMX_ADD_SUMS_H_
