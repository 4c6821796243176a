// Arrays of bfloat16 as float32 and back, on the calling thread: for kernels of CPUs, which compute
// in float32. The bits are those of tensor/float16.h: to nearest, ties to even, a NaN stays one.

#ifndef DTNN_KERNELS_CAST_BFLOAT16_H_
#define DTNN_KERNELS_CAST_BFLOAT16_H_

#include <cstdint>

#include "tensor/float16.h"

namespace dtnn {

void Widen(const Bfloat16* from, int64_t count, float* to);
void Round(const float* from, int64_t count, Bfloat16* to);

}  // namespace dtnn

#endif  // DTNN_KERNELS_CAST_BFLOAT16_H_
