// The vector loops of AdaptivePool, for adaptive_pool*.cc only.

#ifndef DTNN_KERNELS_POOL_ADAPTIVE_POOL_CPU_H_
#define DTNN_KERNELS_POOL_ADAPTIVE_POOL_CPU_H_

#include <cstdint>

#include "kernels/elementwise/operands.h"
#include "kernels/pool/adaptive_pool.h"

namespace dtnn {

struct AdaptivePoolPass {
  AdaptivePoolSpec spec;
  Operand in = {}, out = {};  // x, y or dx, dy; the pitch is from pixel to pixel or image to image
  bool accumulate = false;
};

// Units of work: in NHWC rows, of y forward and of dx backward, through all images; in NCHW planes.
void AdaptivePoolForward(const AdaptivePoolPass& pass, int64_t begin, int64_t end);
void AdaptivePoolBackward(const AdaptivePoolPass& pass, int64_t begin, int64_t end);

}  // namespace dtnn

#endif  // DTNN_KERNELS_POOL_ADAPTIVE_POOL_CPU_H_
