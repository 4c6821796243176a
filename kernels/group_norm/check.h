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

// x, which fits the spec, images of its shape, and vectors of a number per channel.
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
    DTNN_RETURN_IF_ERROR(
        CheckOperand(kName, "an image", *image, device, spec.dtype, shape, Pitch::kAllowed));
  }
  for (const Tensor* vector : vectors) {
    DTNN_RETURN_IF_ERROR(CheckOperand(kName, "a vector of channels", *vector, device,
                                      WideOf(spec.dtype), Shape{spec.channels}, Pitch::kNone));
  }
  return absl::OkStatus();
}

// `dx` may be empty, and dgamma and dbeta together.
inline absl::Status CheckGroupNormBackward(const GroupNormSpec& spec, Device device,
                                           const Tensor& x, const Tensor& dy, const Tensor& gamma,
                                           const Tensor& dx, const Tensor& dgamma,
                                           const Tensor& dbeta, Workspace workspace,
                                           size_t needed) {
  const bool trains = !dgamma.empty() || !dbeta.empty();
  DTNN_RETURN_IF_ERROR(
      CheckGroupNorm(spec, device, x, {&dy, dx.empty() ? &x : &dx},
                     {&gamma, trains ? &dgamma : &gamma, trains ? &dbeta : &gamma}));
  if (workspace.size() >= needed) return absl::OkStatus();
  return InvalidArgument("group norm: a workspace of ", workspace.size(), " bytes, expected ",
                         needed);
}

}  // namespace dtnn

#endif  // DTNN_KERNELS_GROUP_NORM_CHECK_H_
