// What every implementation of Softmax and SoftmaxCrossEntropy checks before a call.

#ifndef DTNN_KERNELS_SOFTMAX_CHECK_H_
#define DTNN_KERNELS_SOFTMAX_CHECK_H_

#include <initializer_list>
#include <string_view>

#include "absl/status/status.h"
#include "kernels/operands/operand.h"
#include "kernels/softmax/softmax.h"
#include "tensor/errors.h"

namespace dtnn {

// Matrices of one shape, with the columns of the spec: inputs (x, dx), and results (y, dy).
inline absl::Status CheckSoftmax(std::string_view operation, const SoftmaxSpec& spec, Device device,
                                 std::initializer_list<const Tensor*> inputs,
                                 std::initializer_list<const Tensor*> results) {
  const Shape& shape = (*results.begin())->shape();
  const auto check = [&](const Tensor& matrix, DType dtype) {
    return CheckOperand(operation, "an operand", matrix, device, dtype, shape, Pitch::kAllowed);
  };
  for (const Tensor* input : inputs) DTNN_RETURN_IF_ERROR(check(*input, spec.dtype));
  for (const Tensor* result : results) DTNN_RETURN_IF_ERROR(check(*result, spec.result_dtype()));
  if (shape.rank() == 2 && shape[1] == spec.columns) return absl::OkStatus();
  return InvalidArgument(operation, ": shape ", shape.ToString(), ", expected rows of ",
                         spec.columns, " columns");
}

// `dx` may be empty.
inline absl::Status CheckSoftmaxCrossEntropy(const SoftmaxSpec& spec, Device device,
                                             const Tensor& x, const Tensor& labels, const Tensor& y,
                                             const Tensor& losses, const Tensor& dx,
                                             const GradientScale& scale) {
  constexpr std::string_view kName = "softmax cross entropy";
  DTNN_RETURN_IF_ERROR(CheckSoftmax(kName, spec, device, {&x, dx.empty() ? &x : &dx}, {&y}));
  const Shape rows{x.shape()[0]};
  DTNN_RETURN_IF_ERROR(
      CheckOperand(kName, "labels", labels, device, DType::kInt32, rows, Pitch::kNone));
  if (!scale.on_device.empty()) {
    DTNN_RETURN_IF_ERROR(CheckOperand(kName, "the loss scale", scale.on_device, device,
                                      DType::kFloat32, Shape{1}, Pitch::kNone));
  }
  return CheckOperand(kName, "losses", losses, device, WideOf(spec.dtype), rows, Pitch::kNone);
}

}  // namespace dtnn

#endif  // DTNN_KERNELS_SOFTMAX_CHECK_H_
