#include "kernels/conv/conv2d_spec.h"

#include <algorithm>
#include <initializer_list>
#include <limits>

#include "tensor/errors.h"

namespace dtnn {
namespace {

// Large enough for any real tensor, small enough that sums and products of two fields fit 63 bits.
constexpr int64_t kLargest = int64_t{1} << 30;
// Bytes of a tensor. Sizes of workspaces, which are small multiples of it, fit 63 bits too.
constexpr int64_t kMostBytes = int64_t{1} << 40;
// Variants keep a table of the taps of every position along each axis.
constexpr int64_t kMostTaps = int64_t{1} << 22;

int64_t OutputExtent(int64_t in, int64_t kernel, int64_t stride, int64_t padding,
                     int64_t dilation) {
  const int64_t room = in + 2 * padding - dilation * (kernel - 1) - 1;
  return room < 0 ? 0 : room / stride + 1;
}

absl::Status CheckField(const char* name, int64_t value, int64_t smallest) {
  if (value >= smallest && value <= kLargest) return absl::OkStatus();
  return InvalidArgument("convolution: ", name, " is ", value, ", must be between ", smallest,
                         " and ", kLargest);
}

absl::Status CheckPair(const char* name, Pair pair, int64_t smallest) {
  DTNN_RETURN_IF_ERROR(CheckField(StrCat("vertical ", name).c_str(), pair.vertical, smallest));
  return CheckField(StrCat("horizontal ", name).c_str(), pair.horizontal, smallest);
}

absl::Status CheckOutput(const char* name, int64_t in, int64_t out, int64_t kernel, int64_t padding,
                         int64_t dilation) {
  if (out >= 1) return absl::OkStatus();
  return InvalidArgument("convolution: output ", name, " would be < 1: input ", name, " ", in,
                         " with padding ", padding, " is smaller than a kernel of ", kernel,
                         " with dilation ", dilation);
}

absl::Status CheckTaps(const char* name, int64_t extent, int64_t kernel) {
  if (extent <= kMostTaps / kernel) return absl::OkStatus();
  return InvalidArgument("convolution: ", name, " is ", extent, ", expected at most ",
                         kMostTaps / kernel, " with a kernel of ", kernel);
}

absl::Status CheckCount(const char* name, std::initializer_list<int64_t> extents) {
  int64_t product = int64_t(sizeof(double));
  for (int64_t extent : extents) {
    if (__builtin_mul_overflow(product, extent, &product) || product > kMostBytes) {
      return InvalidArgument("convolution: the ", name, " exceeds ", kMostBytes, " bytes");
    }
  }
  return absl::OkStatus();
}

}  // namespace

int64_t Conv2dSpec::out_height() const {
  return OutputExtent(height, kernel.vertical, stride.vertical, padding.vertical,
                      dilation.vertical);
}

int64_t Conv2dSpec::out_width() const {
  return OutputExtent(width, kernel.horizontal, stride.horizontal, padding.horizontal,
                      dilation.horizontal);
}

Shape Conv2dSpec::InputShape() const {
  return SampleShape({height, width, channels}, format).Prepend(batch);
}

Shape Conv2dSpec::OutputShape() const {
  return SampleShape({out_height(), out_width(), filters}, format).Prepend(batch);
}

Shape Conv2dSpec::FilterShape() const {
  const int64_t per_group = channels / groups;
  if (filter_format.value_or(format) == TensorFormat::kNHWC) {
    return Shape{per_group, kernel.vertical, kernel.horizontal, filters};
  }
  return Shape{filters, per_group, kernel.vertical, kernel.horizontal};
}

double Conv2dSpec::Flops() const {
  return 2.0 * double(batch) * double(out_height() * out_width()) * double(filters) *
         double(channels / groups) * double(kernel.vertical * kernel.horizontal);
}

absl::Status Conv2dSpec::Validate() const {
  DTNN_RETURN_IF_ERROR(CheckField("batch", batch, 1));
  DTNN_RETURN_IF_ERROR(CheckField("height", height, 1));
  DTNN_RETURN_IF_ERROR(CheckField("width", width, 1));
  DTNN_RETURN_IF_ERROR(CheckField("channels", channels, 1));
  DTNN_RETURN_IF_ERROR(CheckField("filters", filters, 1));
  DTNN_RETURN_IF_ERROR(CheckPair("kernel", kernel, 1));
  DTNN_RETURN_IF_ERROR(CheckPair("stride", stride, 1));
  DTNN_RETURN_IF_ERROR(CheckPair("padding", padding, 0));
  DTNN_RETURN_IF_ERROR(CheckPair("dilation", dilation, 1));
  DTNN_RETURN_IF_ERROR(CheckField("groups", groups, 1));
  if (channels % groups != 0 || filters % groups != 0) {
    return InvalidArgument("convolution: groups is ", groups,
                           ", which must divide both the channels (", channels,
                           ") and the filters (", filters, ")");
  }
  if (!IsFloating(dtype) && !IsHalf(dtype)) {
    return InvalidArgument("convolution: dtype is ", Name(dtype),
                           ", must be float32, float64, bfloat16 or float16");
  }
  if (tf32 && dtype != DType::kFloat32) {
    return InvalidArgument("convolution: TF32 is for float32, not for ", Name(dtype));
  }
  DTNN_RETURN_IF_ERROR(CheckOutput("height", height, out_height(), kernel.vertical,
                                   padding.vertical, dilation.vertical));
  DTNN_RETURN_IF_ERROR(CheckOutput("width", width, out_width(), kernel.horizontal,
                                   padding.horizontal, dilation.horizontal));
  DTNN_RETURN_IF_ERROR(CheckTaps("padded height", height + 2 * padding.vertical, kernel.vertical));
  DTNN_RETURN_IF_ERROR(
      CheckTaps("padded width", width + 2 * padding.horizontal, kernel.horizontal));
  DTNN_RETURN_IF_ERROR(CheckTaps("output height", out_height(), kernel.vertical));
  DTNN_RETURN_IF_ERROR(CheckTaps("output width", out_width(), kernel.horizontal));
  DTNN_RETURN_IF_ERROR(CheckCount("input", {batch, height, width, channels}));
  DTNN_RETURN_IF_ERROR(CheckCount("output", {batch, out_height(), out_width(), filters}));
  return CheckCount("filter", {kernel.vertical, kernel.horizontal, channels, filters});
}

std::string Conv2dSpec::ToString() const {
  std::string token = StrCat("n", batch, "h", height, "w", width, "c", channels, "_k", filters, "r",
                             kernel.vertical, "s", kernel.horizontal, "p", padding.vertical, "x",
                             padding.horizontal);
  if (stride != Pair(1)) StrAppend(&token, "u", stride.vertical, "x", stride.horizontal);
  if (dilation != Pair(1)) {
    StrAppend(&token, "d", dilation.vertical, "x", dilation.horizontal);
  }
  if (groups != 1) StrAppend(&token, "g", groups);
  StrAppend(&token, format == TensorFormat::kNHWC ? "_nhwc" : "_nchw",
            filter_format.value_or(format) == format ? "_" : "w_", tf32 ? "t" : "",
            ShortName(dtype));
  if (epilogue.scale) token += "_scale";
  if (epilogue.bias) token += "_bias";
  if (epilogue.add) token += "_add";
  if (epilogue.relu) token += "_relu";
  return token;
}

}  // namespace dtnn
