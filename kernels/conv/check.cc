#include "kernels/conv/check.h"

#include "absl/strings/str_cat.h"
#include "tensor/status_macros.h"

namespace dtnn {
namespace {

absl::Status CheckTensor(const char* name, const Tensor& tensor, const Shape& shape, DType dtype) {
  if (tensor.empty()) return absl::InvalidArgumentError(absl::StrCat(name, " is missing"));
  if (tensor.shape() == shape && tensor.dtype() == dtype) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("convolution: ", name, " has shape ", tensor.shape().ToString(), " of ",
                   std::string(Name(tensor.dtype())), ", expected ", shape.ToString(), " of ",
                   std::string(Name(dtype))));
}

// `expected` has the largest batch.
absl::Status CheckBatch(const char* name, const Tensor& tensor, const Shape& expected) {
  if (tensor.empty() || tensor.shape().rank() != 4 || tensor.shape()[0] <= expected[0]) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("convolution: ", name, " has ", tensor.shape()[0],
                                                 " images, made for at most ", expected[0]));
}

absl::Status CheckImages(const Conv2dSpec& s, const char* x_name, const Tensor& x,
                         const char* y_name, const Tensor& y) {
  const Shape in = s.InputShape(), out = s.OutputShape();
  DTNN_RETURN_IF_ERROR(CheckBatch(x_name, x, in));
  const int64_t images = x.empty() || x.shape().rank() == 0 ? 0 : x.shape()[0];
  DTNN_RETURN_IF_ERROR(CheckTensor(x_name, x, in.DropFirst().Prepend(images), s.dtype));
  return CheckTensor(y_name, y, out.DropFirst().Prepend(images), s.dtype);
}

}  // namespace

absl::Status CheckConv2dForward(const Conv2dSpec& s, const Tensor& x, const Tensor& filter,
                                const Tensor& y, const EpilogueOperands& operands) {
  DTNN_RETURN_IF_ERROR(CheckImages(s, "x", x, "y", y));
  DTNN_RETURN_IF_ERROR(CheckTensor("the filter", filter, s.FilterShape(), s.dtype));
  const Shape vector{s.filters};
  if (s.epilogue.scale) {
    DTNN_RETURN_IF_ERROR(CheckTensor("the epilogue's scale", operands.scale, vector, s.dtype));
  }
  if (s.epilogue.bias) {
    DTNN_RETURN_IF_ERROR(CheckTensor("the epilogue's bias", operands.bias, vector, s.dtype));
  }
  if (s.epilogue.add) {
    DTNN_RETURN_IF_ERROR(CheckTensor("the epilogue's addend", operands.addend, y.shape(), s.dtype));
  }
  return absl::OkStatus();
}

absl::Status CheckConv2dBackwardData(const Conv2dSpec& s, const Tensor& dy, const Tensor& filter,
                                     const Tensor& dx) {
  DTNN_RETURN_IF_ERROR(CheckImages(s, "dx", dx, "dy", dy));
  return CheckTensor("the filter", filter, s.FilterShape(), s.dtype);
}

absl::Status CheckConv2dBackwardFilter(const Conv2dSpec& s, const Tensor& x, const Tensor& dy,
                                       const Tensor& dfilter, const Tensor& dbias) {
  DTNN_RETURN_IF_ERROR(CheckImages(s, "x", x, "dy", dy));
  DTNN_RETURN_IF_ERROR(CheckTensor("dfilter", dfilter, s.FilterShape(), s.dtype));
  if (dbias.empty()) return absl::OkStatus();
  return CheckTensor("dbias", dbias, Shape{s.filters}, s.dtype);
}

absl::Status CheckConv2dWorkspace(Workspace workspace, size_t needed) {
  if (workspace.size() >= needed) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("convolution: the workspace has ", workspace.size(), " bytes, needs ", needed));
}

}  // namespace dtnn
