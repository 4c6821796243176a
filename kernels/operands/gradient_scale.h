// What a gradient is multiplied by: a number that the host knows, and perhaps one that only the
// device knows, the loss scale of float16 (update/loss_scale.h).

#ifndef DTNN_KERNELS_OPERANDS_GRADIENT_SCALE_H_
#define DTNN_KERNELS_OPERANDS_GRADIENT_SCALE_H_

#include <utility>

#include "tensor/tensor.h"

namespace dtnn {

struct GradientScale {
  double factor = 1;
  Tensor on_device = {};  // one float32; empty: 1

  GradientScale(double factor) : factor(factor) {}  // NOLINT: a number is one
  GradientScale(double factor, Tensor on_device)
      : factor(factor), on_device(std::move(on_device)) {}

  // The product, for a device whose memory is the host's.
  double OnHost() const {
    return on_device.empty() ? factor : factor * double(*on_device.data<float>());
  }
};

}  // namespace dtnn

#endif  // DTNN_KERNELS_OPERANDS_GRADIENT_SCALE_H_
