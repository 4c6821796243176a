// What every implementation of Update checks before a call.

#ifndef DTNN_KERNELS_UPDATE_CHECK_H_
#define DTNN_KERNELS_UPDATE_CHECK_H_

#include <span>

#include "absl/status/status.h"
#include "kernels/operands/operand.h"
#include "kernels/update/update.h"
#include "tensor/errors.h"

namespace dtnn {

inline absl::Status CheckStep(const UpdateStep& step) {
  if (step.step >= 1) return absl::OkStatus();
  return InvalidArgument("update: step ", step.step, ", expected steps from 1");
}

inline absl::Status CheckUpdate(const UpdateSpec& spec, Device device, const Tensor& parameters,
                                const Tensor& gradients, std::span<const Tensor> slots,
                                const UpdateGates& gates) {
  const auto check = [&](const char* name, const Tensor& tensor) {
    return CheckOperand("update", name, tensor, device, spec.dtype,
                        Shape{parameters.num_elements()}, Pitch::kNone);
  };
  DTNN_RETURN_IF_ERROR(check("the parameters", parameters));
  DTNN_RETURN_IF_ERROR(check("the gradients", gradients));
  for (const Tensor& slot : slots) DTNN_RETURN_IF_ERROR(check("a slot", slot));
  const auto check_gate = [&](const char* name, const Tensor& gate, DType dtype) {
    if (gate.empty()) return absl::OkStatus();
    return CheckOperand("update", name, gate, device, dtype, Shape{1}, Pitch::kNone);
  };
  DTNN_RETURN_IF_ERROR(check_gate("the gate", gates.closed, DType::kInt32));
  DTNN_RETURN_IF_ERROR(check_gate("the gradients' factor", gates.factor, DType::kFloat64));
  DTNN_RETURN_IF_ERROR(check_gate("the skipped steps", gates.skipped, DType::kInt64));
  if (int(slots.size()) == spec.slots()) return absl::OkStatus();
  return InvalidArgument("update: ", slots.size(), " slots, expected ", spec.slots());
}

}  // namespace dtnn

#endif  // DTNN_KERNELS_UPDATE_CHECK_H_
