// What every implementation of ChannelScale checks before a call.

#ifndef DTNN_KERNELS_CHANNEL_SCALE_CHECK_H_
#define DTNN_KERNELS_CHANNEL_SCALE_CHECK_H_

#include <string_view>

#include "absl/status/status.h"
#include "kernels/channel_scale/channel_scale.h"
#include "kernels/operands/operand.h"
#include "tensor/errors.h"

namespace dtnn {

// `x` and `y` (or dy), and the factors (or their gradient) that belong to them.
inline absl::Status CheckChannelScale(const ChannelScaleSpec& spec, Device device, const Tensor& x,
                                      const Tensor& y, const Tensor& factors) {
  constexpr std::string_view kName = "channel scale";
  const Shape& shape = x.shape();
  if (shape.rank() != 4) {
    return InvalidArgument(kName, ": shape ", shape.ToString(), ", expected images");
  }
  for (const Tensor* tensor : {&x, &y}) {
    DTNN_RETURN_IF_ERROR(
        CheckOperand(kName, "an image", *tensor, device, spec.dtype, shape, Pitch::kAllowed));
  }
  const int64_t channels = shape[spec.format == TensorFormat::kNCHW ? 1 : 3];
  return CheckOperand(kName, "the factors", factors, device, spec.dtype,
                      SampleShape({1, 1, channels}, spec.format).Prepend(shape[0]),
                      Pitch::kAllowed);
}

}  // namespace dtnn

#endif  // DTNN_KERNELS_CHANNEL_SCALE_CHECK_H_
