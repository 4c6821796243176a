// What every implementation of GroupNorm checks before a call.

#ifndef DTNN_KERNELS_GROUP_NORM_CHECK_H_
#define DTNN_KERNELS_GROUP_NORM_CHECK_H_

#include <initializer_list>
#include <string_view>

#include "absl/status/status.h"
#include "kernels/group_norm/group_norm.h"
#include "kernels/operands/operand.h"
#include "tensor/dtype.h"
#include "tensor/errors.h"

namespace dtnn {

// Images of one shape, and vectors of a number per channel. Empty tensors are not looked at.
inline absl::Status CheckGroupNorm(const GroupNormSpec& spec, Device device, const Tensor& x,
                                   std::initializer_list<const Tensor*> images,
                                   std::initializer_list<const Tensor*> vectors) {
  constexpr std::string_view kName = "group norm";
  const Shape& shape = x.shape();
  const bool planes = spec.format == TensorFormat::kNCHW;
  if (shape.rank() != 4 || shape[0] > spec.batch || shape[planes ? 1 : 3] != spec.channels ||
      shape.NumElements() != shape[0] * spec.channels * spec.positions) {
    return InvalidArgument(kName, ": shape ", shape.ToString(), ", expected up to ", spec.batch,
                           " images of ", spec.positions, " pixels and ", spec.channels,
                           " channels in ", Name(spec.format));
  }
  DTNN_RETURN_IF_ERROR(
      CheckOperand(kName, "an image", x, device, spec.dtype, shape, Pitch::kAllowed));
  for (const Tensor* image : images) {
    if (image->empty()) continue;
    DTNN_RETURN_IF_ERROR(
        CheckOperand(kName, "an image", *image, device, spec.dtype, shape, Pitch::kAllowed));
  }
  for (const Tensor* vector : vectors) {
    if (vector->empty()) continue;
    DTNN_RETURN_IF_ERROR(CheckOperand(kName, "a vector of channels", *vector, device,
                                      WideOf(spec.dtype), Shape{spec.channels}, Pitch::kNone));
  }
  return absl::OkStatus();
}

}  // namespace dtnn

#endif  // DTNN_KERNELS_GROUP_NORM_CHECK_H_
