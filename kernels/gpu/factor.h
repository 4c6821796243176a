// An operand of a product or convolution as a GPU multiplies it.

#ifndef DTNN_KERNELS_GPU_FACTOR_H_
#define DTNN_KERNELS_GPU_FACTOR_H_

#include <type_traits>

#include "tensor/float16.h"
#include "tensor/host_device.h"

namespace dtnn {

// Widened; a float32 rounded first where `tf32`.
template <typename T>
DTNN_HOST_DEVICE Wide<T> FactorOf(T x, bool tf32) {
  if constexpr (std::is_same_v<T, float>) return tf32 ? RoundToTf32(x) : x;
  return Wide<T>(x);
}

}  // namespace dtnn

#endif  // DTNN_KERNELS_GPU_FACTOR_H_
