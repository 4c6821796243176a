#include "kernels/operands/operand.h"

#include <string>

#include "tensor/errors.h"

namespace dtnn {
namespace {

std::string Describe(const Shape& shape, DType dtype, Device device) {
  return StrCat(shape.ToString(), " of ", Name(dtype), " on ", device.ToString());
}

}  // namespace

absl::Status CheckOperand(std::string_view operation, std::string_view name, const Tensor& tensor,
                          Device device, DType dtype, const Shape& shape, Pitch pitch) {
  if (tensor.empty()) {
    return InvalidArgument(operation, ": ", name, " is missing");
  }
  const bool laid_out = pitch == Pitch::kAllowed || tensor.dense();
  if (tensor.shape() == shape && tensor.dtype() == dtype && tensor.device() == device && laid_out) {
    return absl::OkStatus();
  }
  return InvalidArgument(operation, ": ", name, " has shape ",
                         Describe(tensor.shape(), tensor.dtype(), tensor.device()),
                         tensor.dense() ? "" : ", pitched", "; expected ",
                         Describe(shape, dtype, device), laid_out ? "" : ", dense");
}

}  // namespace dtnn
