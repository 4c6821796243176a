// What becomes of the sums of a few tiles: scaled, added to, rectified, and rounded to bfloat16
// once, or kept in float32.

#ifndef DTNN_KERNELS_AMX_WRITE_BACK_H_
#define DTNN_KERNELS_AMX_WRITE_BACK_H_

#include <cstdint>

#include "tensor/float16.h"

namespace dtnn::tile {

// y = relu(scale * sum + bias + addend) for `rows` of at most 32 `channels`; null: not there.
// Numbers that bfloat16 holds as denormal become zero, as in the products.
struct RowsOfResults {
  const float* sums = nullptr;
  int64_t sums_pitch = 0;
  int64_t rows = 0;
  int channels = 0;
  const float *scale = nullptr, *bias = nullptr;
  const Bfloat16* addend = nullptr;
  int64_t addend_pitch = 0;
  bool relu = false;
  Bfloat16* out = nullptr;
  float* wide = nullptr;  // instead of `out`: the sums themselves
  int64_t out_pitch = 0;
};

// In plain C++, and with the instructions of a CPU that has tiles: the same bits.
void WriteBackPlainly(const RowsOfResults& results);
void WriteBackInVectors(const RowsOfResults& results);

}  // namespace dtnn::tile

#endif  // DTNN_KERNELS_AMX_WRITE_BACK_H_
