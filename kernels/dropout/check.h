// What every implementation of Dropout checks before a call.

#ifndef DTNN_KERNELS_DROPOUT_CHECK_H_
#define DTNN_KERNELS_DROPOUT_CHECK_H_

#include "absl/status/status.h"
#include "kernels/dropout/dropout.h"
#include "kernels/operand.h"
#include "tensor/errors.h"

namespace dtnn {

inline absl::Status CheckOffset(Device device, const RandomOffset& offset) {
  if (offset.first % 4 != 0 || offset.per_step % 4 != 0) {
    return InvalidArgument("dropout: the offset is ", offset.first, " and ", offset.per_step,
                           " per step, expected multiples of 4");
  }
  if (offset.step.empty()) return absl::OkStatus();
  return CheckOperand("dropout", "the step", offset.step, device, DType::kInt64, Shape{1},
                      Pitch::kNone);
}

}  // namespace dtnn

#endif  // DTNN_KERNELS_DROPOUT_CHECK_H_
