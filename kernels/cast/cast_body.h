// Numbers in another type, for kernels of GPUs.

#ifndef DTNN_KERNELS_CAST_CAST_BODY_H_
#define DTNN_KERNELS_CAST_CAST_BODY_H_

#include <cstdint>

#include "tensor/gpu/kernel.h"

namespace dtnn {

// y = x, by way of float32. A thread per element.
template <typename From, typename To>
struct CastBody {
  const From* x;
  To* y;

  void Declare(int64_t n, gpu::Accesses& accesses) {
    accesses.Reads(x, n);
    accesses.Writes(y, n);
  }
  DTNN_HOST_DEVICE void operator()(int64_t i) const { y[i] = To(float(x[i])); }
};

}  // namespace dtnn

#endif  // DTNN_KERNELS_CAST_CAST_BODY_H_
