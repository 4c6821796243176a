// Convolutions, and transposed ones.

#include <algorithm>
#include <utility>

#include "layers/conv2d.h"
#include "layers/upsampling/transposed_conv2d.h"
#include "models/onnx/import/operators.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

constexpr int64_t kMostFilters = int64_t{1} << 30;

// A kernel that is enlarged by uneven padding takes at most so many times its memory, beside a
// little.
constexpr int64_t kMostGrowth = 16, kLittle = 1 << 20;
constexpr int64_t kMostTaps = 4096;  // along one axis

// Taps of a kernel that are 0 because they read padding that only one side has.
struct Border {
  int64_t before = 0, after = 0;
};

// Layers pad both sides alike: by the larger padding, and by zeros of the kernel where it is
// smaller.
absl::StatusOr<Border> BorderOf(int64_t before, int64_t after, int64_t dilation) {
  if ((before - after) % dilation == 0) {
    return Border{std::max<int64_t>(0, after - before) / dilation,
                  std::max<int64_t>(0, before - after) / dilation};
  }
  return Unimplemented("has paddings of ", before, " and ", after, " with a dilation of ", dilation,
                       "; layers pad both sides alike, or differ by a multiple of it");
}

// (out, in, kh, kw) with zeros around its kernels.
absl::StatusOr<std::vector<float>> Enlarged(const TensorValues& weights, const Border& rows,
                                            const Border& columns) {
  const int64_t height = weights.dims[2], width = weights.dims[3];
  const int64_t high = rows.before + height + rows.after,
                wide = columns.before + width + columns.after;
  const int64_t kernels = weights.dims[0] * weights.dims[1];
  if (std::max(high, wide) > kMostTaps ||
      high * wide > (kMostGrowth * weights.count() + kLittle) / std::max<int64_t>(1, kernels)) {
    return Unimplemented("has paddings that differ from side to side, and would take kernels of ",
                         high, " x ", wide, " taps");
  }
  std::vector<float> enlarged(size_t(kernels * high * wide), 0.0F);
  for (int64_t kernel = 0; kernel < kernels; ++kernel) {
    for (int64_t row = 0; row < height; ++row) {
      std::copy_n(weights.reals.begin() + (kernel * height + row) * width, width,
                  enlarged.begin() + (kernel * high + rows.before + row) * wide + columns.before);
    }
  }
  return enlarged;
}

}  // namespace

absl::Status ImportConv(OperatorReader& op) {
  DTNN_ASSIGN_OR_RETURN(const ImportedValue input, op.PaddedImage(0));
  DTNN_ASSIGN_OR_RETURN(TensorValues weights, op.Constant(1));
  if (weights.dims.size() != 4 || !weights.real()) {
    return Unimplemented("its weights have shape ", weights.ShapeText(),
                         "; layers have convolutions in two dimensions of real numbers");
  }
  const int64_t filters = weights.dims[0], groups = op.Int("group", 1), channels = input.shape[0];
  Conv2dOptions options = {.kernel = {weights.dims[2], weights.dims[3]},
                           .stride = op.TwoInts("strides", 1),
                           .dilation = op.TwoInts("dilations", 1),
                           .bias = op.Has(2)};
  if (op.TwoInts("kernel_shape", options.kernel) != options.kernel) {
    return InvalidArgument("its kernel_shape differs from its weights of ", weights.ShapeText());
  }
  if (groups < 1 || channels % groups != 0 || weights.dims[1] != channels / groups) {
    return InvalidArgument("its weights of ", weights.ShapeText(), " and ", groups,
                           " groups do not fit an image of ", channels, " channels");
  }
  const Shape padded = {channels, input.shape[1] + input.pads.top + input.pads.bottom,
                        input.shape[2] + input.pads.left + input.pads.right};
  DTNN_ASSIGN_OR_RETURN(ImagePads pads,
                        PadsOf(op, padded, options.kernel, options.stride, options.dilation));
  pads = {pads.top + input.pads.top, pads.left + input.pads.left, pads.bottom + input.pads.bottom,
          pads.right + input.pads.right};
  DTNN_ASSIGN_OR_RETURN(const Border rows,
                        BorderOf(pads.top, pads.bottom, options.dilation.vertical));
  DTNN_ASSIGN_OR_RETURN(const Border columns,
                        BorderOf(pads.left, pads.right, options.dilation.horizontal));
  options.padding = {std::max(pads.top, pads.bottom), std::max(pads.left, pads.right)};
  options.kernel.vertical += rows.before + rows.after;
  options.kernel.horizontal += columns.before + columns.after;
  if (groups > 1 && groups == channels && filters == channels) {
    options.grouping = ConvGrouping::kDepthwise;
  } else {
    options.groups = groups;
  }
  if (rows.before + rows.after + columns.before + columns.after > 0) {
    DTNN_ASSIGN_OR_RETURN(weights.reals, Enlarged(weights, rows, columns));
  }
  NetworkMaker::Parameters parameters;
  parameters.push_back(std::move(weights.reals));
  if (options.bias) {
    DTNN_ASSIGN_OR_RETURN(std::vector<float> bias, op.Vector(2, filters));
    parameters.push_back(std::move(bias));
  }
  return op.AddLayer(std::make_shared<Conv2dLayer>(filters, options), input, std::move(parameters),
                     /*weights=*/1);
}

absl::Status ImportConvTranspose(OperatorReader& op) {
  DTNN_ASSIGN_OR_RETURN(const ImportedValue input, op.Image(0));
  DTNN_ASSIGN_OR_RETURN(TensorValues weights, op.Constant(1));
  const int64_t groups = op.Int("group", 1);
  if (weights.dims.size() != 4 || !weights.real() || weights.dims[0] != input.shape[0] ||
      groups < 1 || groups > weights.dims[0] || weights.dims[1] > kMostFilters / groups) {
    return InvalidArgument("its weights of ", weights.ShapeText(), " and ", groups,
                           " groups do not fit an image of ", input.shape[0], " channels");
  }
  const int64_t filters = weights.dims[1] * groups;
  TransposedConv2dOptions options = {.kernel = {weights.dims[2], weights.dims[3]},
                                     .stride = op.TwoInts("strides", 1),
                                     .output_padding = op.TwoInts("output_padding", 0),
                                     .dilation = op.TwoInts("dilations", 1),
                                     .bias = op.Has(2),
                                     .groups = groups};
  if (op.TwoInts("kernel_shape", options.kernel) != options.kernel) {
    return InvalidArgument("its kernel_shape differs from its weights of ", weights.ShapeText());
  }
  const std::string rule = op.Text("auto_pad", "NOTSET");
  if (op.HasAttribute("output_shape") || (rule != "NOTSET" && rule != "VALID")) {
    return Unimplemented(
        "has an attribute \"output_shape\" or \"auto_pad\"; paddings are read from \"pads\" "
        "and \"output_padding\"");
  }
  DTNN_ASSIGN_OR_RETURN(const ImagePads pads,
                        PadsOf(op, input.shape, options.kernel, options.stride, options.dilation));
  // Less padding at the end is more output there.
  options.padding = {pads.top, pads.left};
  const auto more = [](int64_t& output_padding, int64_t before, int64_t after, int64_t stride) {
    if (output_padding < 0 || output_padding >= stride) return false;
    output_padding += before - after;
    return output_padding >= 0 && output_padding < stride;
  };
  if (!more(options.output_padding.vertical, pads.top, pads.bottom, options.stride.vertical) ||
      !more(options.output_padding.horizontal, pads.left, pads.right, options.stride.horizontal)) {
    return Unimplemented(
        "its output_padding is not from 0 to the stride, or its pads after the "
        "image differ from those before it by more; a layer pads both sides alike");
  }
  NetworkMaker::Parameters parameters;
  parameters.push_back(std::move(weights.reals));
  if (options.bias) {
    DTNN_ASSIGN_OR_RETURN(std::vector<float> bias, op.Vector(2, filters));
    parameters.push_back(std::move(bias));
  }
  return op.AddLayer(std::make_shared<TransposedConv2dLayer>(filters, options), input,
                     std::move(parameters), /*weights=*/1);
}

}  // namespace dtnn
