// The order of image axes that a device computes fastest with (`--tensor-format=AUTO`): NHWC on
// CPUs, and on GPUs wherever tensor cores compute, since these read channels side by side; NCHW on
// GPUs in exact float32 and in float64.

#ifndef DTNN_KERNELS_DEVICE_FASTEST_FORMAT_H_
#define DTNN_KERNELS_DEVICE_FASTEST_FORMAT_H_

#include "kernels/device/math_mode.h"
#include "tensor/format.h"

namespace dtnn {

constexpr TensorFormat FastestFormat(bool on_gpu, MathMode mode) {
  return on_gpu && mode == MathMode::kFp32 ? TensorFormat::kNCHW : TensorFormat::kNHWC;
}

}  // namespace dtnn

#endif  // DTNN_KERNELS_DEVICE_FASTEST_FORMAT_H_
