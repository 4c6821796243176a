// What every implementation of Update checks before a call.

#ifndef DTNN_KERNELS_UPDATE_CHECK_H_
#define DTNN_KERNELS_UPDATE_CHECK_H_

#include <span>

#include "absl/status/status.h"
#include "kernels/operand.h"
#include "kernels/update/update.h"
#include "tensor/errors.h"

namespace dtnn {

inline absl::Status CheckUpdate(const UpdateSpec& spec, Device device, const Tensor& parameters,
                                const Tensor& gradients, std::span<const Tensor> slots,
                                const UpdateStep& step) {
  const auto check = [&](const char* name, const Tensor& tensor) {
    return CheckOperand("update", name, tensor, device, spec.dtype,
                        Shape{parameters.num_elements()}, Pitch::kNone);
  };
  DTNN_RETURN_IF_ERROR(check("the parameters", parameters));
  DTNN_RETURN_IF_ERROR(check("the gradients", gradients));
  for (const Tensor& slot : slots) DTNN_RETURN_IF_ERROR(check("a slot", slot));
  if (int(slots.size()) == spec.slots() && step.step >= 1) return absl::OkStatus();
  return InvalidArgument("update: ", slots.size(), " slots at step ", step.step, ", expected ",
                         spec.slots(), " slots and steps from 1");
}

}  // namespace dtnn

#endif  // DTNN_KERNELS_UPDATE_CHECK_H_
