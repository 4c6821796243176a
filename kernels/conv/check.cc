#include "kernels/conv/check.h"

#include <cstdint>

#include "kernels/operands/operand.h"
#include "tensor/buffer.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

constexpr const char* kName = "convolution";

// Images of the spec's input or output, of which a call may bring fewer than the spec says.
absl::Status CheckImages(const Conv2dSpec& s, Device device, const char* name, const Tensor& images,
                         const Shape& most, int64_t count) {
  if (count > most[0]) {
    return InvalidArgument(kName, ": ", name, " has ", count, " images, made for at most ",
                           most[0]);
  }
  return CheckOperand(kName, name, images, device, s.dtype, most.DropFirst().Prepend(count),
                      Pitch::kAllowed);
}

absl::Status CheckBothImages(const Conv2dSpec& s, Device device, const char* x_name,
                             const Tensor& x, const char* y_name, const Tensor& y) {
  const int64_t count = x.shape().rank() == 0 ? 0 : x.shape()[0];
  DTNN_RETURN_IF_ERROR(CheckImages(s, device, x_name, x, s.InputShape(), count));
  return CheckImages(s, device, y_name, y, s.OutputShape(), count);
}

absl::Status CheckFilter(const Conv2dSpec& s, Device device, const Tensor& filter,
                         const Conv2dUse& use) {
  return CheckOperand(kName, "the filter", filter, device, s.dtype, use.FilterShape(s),
                      Pitch::kNone);
}

absl::Status CheckVector(const Conv2dSpec& s, Device device, const char* name,
                         const Tensor& vector) {
  return CheckOperand(kName, name, vector, device, WideOf(s.dtype), Shape{s.filters}, Pitch::kNone);
}

}  // namespace

absl::Status CheckConv2dForward(const Conv2dSpec& s, Device device, const Tensor& x,
                                const Tensor& filter, const Tensor& y,
                                const EpilogueOperands& operands, const Conv2dUse& use) {
  DTNN_RETURN_IF_ERROR(CheckBothImages(s, device, "x", x, "y", y));
  DTNN_RETURN_IF_ERROR(CheckFilter(s, device, filter, use));
  if (s.epilogue.scale) {
    DTNN_RETURN_IF_ERROR(CheckVector(s, device, "the epilogue's scale", operands.scale));
  }
  if (s.epilogue.bias) {
    const bool rounded = !device.is_cpu() && operands.bias.dtype() == s.dtype;
    DTNN_RETURN_IF_ERROR(CheckOperand(kName, "the epilogue's bias", operands.bias, device,
                                      rounded ? s.dtype : WideOf(s.dtype), Shape{s.filters},
                                      Pitch::kNone));
  }
  if (!s.epilogue.add) return absl::OkStatus();
  return CheckOperand(kName, "the epilogue's addend", operands.addend, device, s.dtype, y.shape(),
                      Pitch::kAllowed);
}

absl::Status CheckConv2dBackwardData(const Conv2dSpec& s, Device device, const Tensor& dy,
                                     const Tensor& filter, const Tensor& dx, const Conv2dUse& use) {
  DTNN_RETURN_IF_ERROR(CheckBothImages(s, device, "dx", dx, "dy", dy));
  return CheckFilter(s, device, filter, use);
}

absl::Status CheckConv2dBackwardFilter(const Conv2dSpec& s, Device device, const Tensor& x,
                                       const Tensor& dy, const Tensor& dfilter,
                                       const Tensor& dbias) {
  DTNN_RETURN_IF_ERROR(CheckBothImages(s, device, "x", x, "dy", dy));
  DTNN_RETURN_IF_ERROR(CheckOperand(kName, "dfilter", dfilter, device, WideOf(s.dtype),
                                    s.FilterShape(), Pitch::kNone));
  return dbias.empty() ? absl::OkStatus() : CheckVector(s, device, "dbias", dbias);
}

absl::Status CheckConv2dDirection(bool made_for_it, conv::Direction direction) {
  if (made_for_it) return absl::OkStatus();
  return FailedPrecondition(kName, ": ", conv::Name(direction),
                            ": this primitive was not created for it");
}

absl::Status CheckConv2dWorkspace(Workspace workspace, size_t needed) {
  if (workspace.size() < needed) {
    return InvalidArgument(kName, ": the workspace has ", workspace.size(), " bytes, needs ",
                           needed);
  }
  if (needed > 0 && reinterpret_cast<uintptr_t>(workspace.data()) % Buffer::kAlignment != 0) {
    return InvalidArgument(kName, ": the address of the workspace must be a multiple of ",
                           Buffer::kAlignment);
  }
  return absl::OkStatus();
}

}  // namespace dtnn
