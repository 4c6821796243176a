// Softmax over channels that are planes (NCHW): vectors of pixels, which have their maxima and sums
// side by side. What CPUs run there; bodies.h has the formulas.

#ifndef DTNN_KERNELS_CHANNEL_SOFTMAX_PLANES_H_
#define DTNN_KERNELS_CHANNEL_SOFTMAX_PLANES_H_

#include <cstdint>

#include "tensor/dtype.h"
#include "tensor/rounding.h"

namespace dtnn {

// A tensor: elements from one image and from one channel to the next; those of a plane are
// neighbours.
struct PlaneOperand {
  void* data = nullptr;
  int64_t image = 0, channel = 0;
};

struct PlanesPass {
  DType dtype;
  bool narrow_result;
  int64_t images, groups, channels, pixels;  // channels of a group
  PlaneOperand x = {}, y = {}, dy = {}, dx = {};
  bool accumulate = false;

  // Pixels that are computed together: so many that their values fit into a core's first caches,
  // and that there are blocks for many threads.
  int64_t block() const;
  int64_t blocks() const { return images * groups * CeilDiv(pixels, block()); }
};

// Blocks [begin, end): y of x, or dx of y and dy.
void RunPlanesForward(const PlanesPass& pass, int64_t begin, int64_t end);
void RunPlanesBackward(const PlanesPass& pass, int64_t begin, int64_t end);

}  // namespace dtnn

#endif  // DTNN_KERNELS_CHANNEL_SOFTMAX_PLANES_H_
