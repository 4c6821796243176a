#include "kernels/elementwise/operands.h"

#include "kernels/operands/operand.h"
#include "kernels/operands/rows.h"
#include "tensor/errors.h"

namespace dtnn {

RowGrid GridOf(TensorFormat format, std::initializer_list<const Tensor*> tensors) {
  RowGrid grid;
  for (const Tensor* tensor : tensors) {
    if (tensor->empty()) continue;
    const Rows rows = RowsOf(*tensor, format);
    grid = {rows.rows, rows.columns};
    if (!tensor->dense()) break;
  }
  return grid;
}

Operand OperandIn(const RowGrid& grid, const Tensor& tensor, TensorFormat format) {
  if (tensor.empty()) return {};
  return {tensor.raw_data(), tensor.dense() ? grid.columns : RowsOf(tensor, format).pitch};
}

absl::Status CheckOperands(std::string_view operation, Device device, DType dtype,
                           std::initializer_list<const Tensor*> tensors) {
  const Shape& shape = (*tensors.begin())->shape();
  for (const Tensor* tensor : tensors) {
    DTNN_RETURN_IF_ERROR(
        CheckOperand(operation, "an operand", *tensor, device, dtype, shape, Pitch::kAllowed));
  }
  return absl::OkStatus();
}

absl::Status CheckFloating(std::string_view operation, DType dtype) {
  if (IsFloating(dtype)) return absl::OkStatus();
  return InvalidArgument(operation, ": dtype ", Name(dtype), ", expected float32 or float64");
}

absl::Status CheckFloating(std::string_view operation, Device device, DType dtype) {
  if (!IsHalf(dtype)) return CheckFloating(operation, dtype);
  if (!device.is_cpu() || dtype == DType::kBfloat16) return absl::OkStatus();
  return InvalidArgument(operation, ": dtype ", Name(dtype),
                         ", expected float32, float64 or bfloat16; only GPUs compute with float16");
}

absl::Status NoKernelFor(std::string_view operation, Device device) {
  return Unimplemented(operation, " has no implementation for ", device.ToString(),
                       " in this build; run it on the CPU");
}

}  // namespace dtnn
