#include "kernels/operand.h"

#include <string>

#include "absl/strings/str_cat.h"

namespace dtnn {
namespace {

std::string Describe(const Shape& shape, DType dtype, Device device) {
  return absl::StrCat(shape.ToString(), " of ", std::string(Name(dtype)), " on ",
                      device.ToString());
}

}  // namespace

absl::Status CheckOperand(std::string_view operation, std::string_view name, const Tensor& tensor,
                          Device device, DType dtype, const Shape& shape, Pitch pitch) {
  if (tensor.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(std::string(operation), ": ", std::string(name), " is missing"));
  }
  const bool laid_out = pitch == Pitch::kAllowed || tensor.dense();
  if (tensor.shape() == shape && tensor.dtype() == dtype && tensor.device() == device && laid_out) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      std::string(operation), ": ", std::string(name), " has shape ",
      Describe(tensor.shape(), tensor.dtype(), tensor.device()), tensor.dense() ? "" : ", pitched",
      "; expected ", Describe(shape, dtype, device), laid_out ? "" : ", dense"));
}

}  // namespace dtnn
