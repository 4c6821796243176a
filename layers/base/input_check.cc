#include "layers/base/input_check.h"

#include "tensor/errors.h"

namespace dtnn {

absl::Status ExpectOneInput(std::span<const Shape> inputs) {
  if (inputs.size() == 1) return absl::OkStatus();
  return InvalidArgument("needs one input, not ", inputs.size());
}

absl::Status ExpectOneImage(std::span<const Shape> inputs) {
  DTNN_RETURN_IF_ERROR(ExpectOneInput(inputs));
  if (inputs[0].rank() == 3) return absl::OkStatus();
  return InvalidArgument("needs an image (three axes), not a sample of shape ",
                         inputs[0].ToString());
}

absl::Status ExpectOneVector(std::span<const Shape> inputs) {
  DTNN_RETURN_IF_ERROR(ExpectOneInput(inputs));
  if (inputs[0].rank() == 1) return absl::OkStatus();
  return InvalidArgument("needs a vector, not a sample of shape ", inputs[0].ToString(),
                         "; put a Flatten before it");
}

}  // namespace dtnn
