// What every implementation of PRelu checks before a call, and how it sees its operands.

#ifndef DTNN_KERNELS_PRELU_CHECK_H_
#define DTNN_KERNELS_PRELU_CHECK_H_

#include <initializer_list>

#include "absl/status/status.h"
#include "kernels/operands/operand.h"
#include "kernels/prelu/prelu.h"
#include "tensor/errors.h"

namespace dtnn {

inline absl::Status CheckPRelu(const PReluSpec& spec, Device device,
                               std::initializer_list<const Tensor*> activations,
                               const Tensor& slopes) {
  const Shape& shape = (*activations.begin())->shape();
  for (const Tensor* tensor : activations) {
    DTNN_RETURN_IF_ERROR(CheckOperand("prelu", "an activation", *tensor, device, spec.dtype, shape,
                                      spec.channels == 1 ? Pitch::kNone : Pitch::kAllowed));
  }
  const bool planes = shape.rank() == 4 && spec.format == TensorFormat::kNCHW;
  const bool fits = (shape.rank() == 2 || shape.rank() == 4) &&
                    (spec.channels == 1 || shape[planes ? 1 : shape.rank() - 1] == spec.channels);
  if (!fits) {
    return InvalidArgument("prelu: shape ", shape.ToString(), ", expected a matrix or images of ",
                           spec.channels, " channels");
  }
  return CheckOperand("prelu", "the slopes", slopes, device, WideOf(spec.dtype),
                      Shape{spec.channels}, Pitch::kNone);
}

// Where there is one slope, samples are images of one channel.
inline Tensor OfChannels(const PReluSpec& spec, const Tensor& x) {
  if (spec.channels > 1) return x;
  return x.Reshaped({x.shape()[0], 1, 1, x.shape().DropFirst().NumElements()});
}
inline TensorFormat FormatOfChannels(const PReluSpec& spec) {
  return spec.channels > 1 ? spec.format : TensorFormat::kNCHW;
}
// The same for sums over all but the channels, which are divided among threads by rows.
inline Tensor RowsOfChannels(const PReluSpec& spec, const Tensor& x) {
  return spec.channels > 1 ? x : x.Reshaped({x.num_elements(), 1});
}

}  // namespace dtnn

#endif  // DTNN_KERNELS_PRELU_CHECK_H_
