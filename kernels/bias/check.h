// What every implementation of Bias checks before a call.

#ifndef DTNN_KERNELS_BIAS_CHECK_H_
#define DTNN_KERNELS_BIAS_CHECK_H_

#include "absl/status/status.h"
#include "kernels/bias/bias.h"
#include "kernels/operands/operand.h"
#include "tensor/errors.h"

namespace dtnn {

// `x` and `y` (or dy twice), and the vector (bias or dbias) that belongs to them.
inline absl::Status CheckBias(const BiasSpec& spec, Device device, const Tensor& x,
                              const Tensor& vector, const Tensor& y) {
  const Shape& shape = x.shape();
  for (const Tensor* tensor : {&x, &y}) {
    DTNN_RETURN_IF_ERROR(
        CheckOperand("bias", "an activation", *tensor, device, spec.dtype, shape, Pitch::kAllowed));
  }
  const bool planes = shape.rank() == 4 && spec.format == TensorFormat::kNCHW;
  const bool fits = (shape.rank() == 2 || shape.rank() == 4) &&
                    shape[planes ? 1 : shape.rank() - 1] == spec.channels;
  if (!fits) {
    return InvalidArgument("bias: shape ", shape.ToString(), ", expected a matrix or images of ",
                           spec.channels, " channels");
  }
  return CheckOperand("bias", "the vector", vector, device, WideOf(spec.dtype),
                      Shape{spec.channels}, Pitch::kNone);
}

}  // namespace dtnn

#endif  // DTNN_KERNELS_BIAS_CHECK_H_
