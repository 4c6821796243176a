// What every implementation of Dropout checks before a call.

#ifndef DTNN_KERNELS_DROPOUT_CHECK_H_
#define DTNN_KERNELS_DROPOUT_CHECK_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/dropout/dropout.h"
#include "kernels/operands/operand.h"
#include "tensor/errors.h"

namespace dtnn {

// The elements of a sample whose numbers are not in the tensor's order: `channels` rows of
// `pixels`.
struct DropoutPlanes {
  int64_t channels = 1, pixels = 1;
  bool in_order() const { return channels <= 1 || pixels <= 1; }  // also where there are none
};

inline absl::StatusOr<DropoutPlanes> PlanesOf(const DropoutSpec& spec, const Shape& shape) {
  if (spec.format == TensorFormat::kNHWC) return DropoutPlanes();
  if (shape.rank() == 4) return DropoutPlanes{shape[1], shape[2] * shape[3]};
  if (spec.pixels <= 1 || shape.rank() != 2) return DropoutPlanes();
  if (shape[1] % spec.pixels == 0) return DropoutPlanes{shape[1] / spec.pixels, spec.pixels};
  return InvalidArgument("dropout: rows of ", shape[1], " elements cannot be those of images of ",
                         spec.pixels, " pixels");
}

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
