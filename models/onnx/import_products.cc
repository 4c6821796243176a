// Operators with weights.

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "layers/batch_normalization.h"
#include "layers/conv2d.h"
#include "layers/fc.h"
#include "layers/group_normalization.h"
#include "layers/image_fc.h"
#include "layers/upsampling/transposed_conv2d.h"
#include "models/onnx/import_operators.h"
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

// The elements of a vector: of (count), or of axes of one element before it.
absl::StatusOr<std::vector<float>> VectorOf(OperatorReader& op, size_t input, int64_t count) {
  DTNN_ASSIGN_OR_RETURN(TensorValues values, op.Constant(input));
  if (!values.real()) return InvalidArgument("its input ", input, " has whole numbers");
  if (values.count() == count && (count == 1 || values.dims.back() == count)) {
    return std::move(values.reals);
  }
  return InvalidArgument("its input ", input, " has shape ", values.ShapeText(), "; expected ",
                         count, " elements");
}

// The elements of a constant that ONNX adds to each channel or feature of a value.
absl::StatusOr<std::vector<float>> BiasOf(OperatorReader& op, size_t input,
                                          const ImportedValue& value) {
  DTNN_ASSIGN_OR_RETURN(TensorValues values, op.Constant(input));
  const int64_t channels = value.shape[0];
  // Axes are compared from the last on, where the batch is one more.
  std::vector<int64_t> expected(1 + size_t(value.shape.rank()), 1);
  expected[value.image() ? (value.channels_last ? 3 : 1) : 1] = channels;
  const size_t rank = values.dims.size();
  const bool fits =
      values.real() && values.count() == channels && rank <= expected.size() &&
      std::ranges::equal(values.dims, std::span(expected).subspan(expected.size() - rank));
  if (fits) return std::move(values.reals);
  return Unimplemented("adds a constant of shape ", values.ShapeText(), " to samples of ",
                       value.shape.ToString(),
                       "; a bias has an element for each channel, of shape ",
                       TensorValues{.dims = expected}.ShapeText());
}

// (in, out) of a matrix that is (out, in) where `transposed`; with rows in the order of channels
// first where features were flattened with channels last.
absl::StatusOr<std::vector<float>> MatrixOf(OperatorReader& op, const ImportedValue& input,
                                            bool transposed, int64_t* outputs) {
  DTNN_ASSIGN_OR_RETURN(const TensorValues weights, op.Constant(1));
  if (!weights.real() || weights.dims.size() != 2) {
    return Unimplemented("its weights have shape ", weights.ShapeText(),
                         "; a fully connected layer has a matrix of real numbers");
  }
  const int64_t in = weights.dims[transposed ? 1 : 0], out = weights.dims[transposed ? 0 : 1];
  if (in != input.shape[0]) {
    return InvalidArgument("its weights have shape ", weights.ShapeText(), ", but its input has ",
                           input.shape[0], " features");
  }
  *outputs = out;
  ImageExtents image = {1, 1, in};
  if (input.rows_first) {
    image = ExtentsOf(op.network().InputShapeOf(input), TensorFormat::kNCHW);
  }
  std::vector<float> matrix(weights.reals.size());
  int64_t from = 0;  // row of the file: (h, w, c)
  for (int64_t pixel = 0; pixel < image.height * image.width; ++pixel) {
    for (int64_t channel = 0; channel < image.channels; ++channel, ++from) {
      const int64_t to = channel * image.height * image.width + pixel;
      for (int64_t column = 0; column < out; ++column) {
        matrix[size_t(to * out + column)] =
            weights.reals[size_t(transposed ? column * in + from : from * out + column)];
      }
    }
  }
  return matrix;
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
    DTNN_ASSIGN_OR_RETURN(std::vector<float> bias, VectorOf(op, 2, filters));
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
    DTNN_ASSIGN_OR_RETURN(std::vector<float> bias, VectorOf(op, 2, filters));
    parameters.push_back(std::move(bias));
  }
  return op.AddLayer(std::make_shared<TransposedConv2dLayer>(filters, options), input,
                     std::move(parameters), /*weights=*/1);
}

absl::Status ImportGemm(OperatorReader& op) {
  DTNN_ASSIGN_OR_RETURN(const ImportedValue input, op.Features(0));
  if (op.Int("transA", 0) != 0) return Unimplemented("its attribute \"transA\" is not 0");
  int64_t outputs = 0;
  DTNN_ASSIGN_OR_RETURN(std::vector<float> matrix,
                        MatrixOf(op, input, op.Int("transB", 0) != 0, &outputs));
  const auto alpha = float(op.Real("alpha", 1)), beta = float(op.Real("beta", 1));
  if (alpha != 1) {
    for (float& value : matrix) value *= alpha;
  }
  const FcOptions options = {.bias = op.Has(2)};
  NetworkMaker::Parameters parameters = {std::move(matrix)};
  if (options.bias) {
    DTNN_ASSIGN_OR_RETURN(std::vector<float> bias, VectorOf(op, 2, outputs));
    if (beta != 1) {
      for (float& value : bias) value *= beta;
    }
    parameters.push_back(std::move(bias));
  }
  // As export writes a layer that reads an image.
  if (op.network().IsLatest(input) && op.IsLastReader(0) &&
      op.network().NameOf(input) == StrCat(op.name(), ".Flatten")) {
    const ImportedValue image = op.DropLatest();
    return op.AddLayer(std::make_shared<ImageFcLayer>(outputs, options), image,
                       std::move(parameters), /*weights=*/1);
  }
  return op.AddLayer(std::make_shared<FcLayer>(outputs, options), input, std::move(parameters),
                     /*weights=*/1);
}

absl::Status ImportMatMul(OperatorReader& op) {
  DTNN_ASSIGN_OR_RETURN(const ImportedValue input, op.Features(0));
  int64_t outputs = 0;
  DTNN_ASSIGN_OR_RETURN(std::vector<float> matrix,
                        MatrixOf(op, input, /*transposed=*/false, &outputs));
  NetworkMaker::Parameters parameters = {std::move(matrix)};
  return op.AddLayer(std::make_shared<FcLayer>(outputs, FcOptions{.bias = false}), input,
                     std::move(parameters), /*weights=*/1);
}

absl::Status ImportBias(OperatorReader& op) {
  const size_t constant = op.IsConstant(0) ? 0 : 1;
  DTNN_ASSIGN_OR_RETURN(const ImportedValue value, op.Value(1 - constant));
  const Layer& layer = op.network().LayerOf(value);
  const Attributes attributes = layer.attributes();
  const bool takes_bias =
      (layer.type_name() == "FC" || layer.type_name() == "Conv2D") &&
      std::ranges::find(attributes, std::pair(std::string("bias"), Attribute(int64_t{0}))) !=
          attributes.end();
  if (!takes_bias || !op.network().IsLatest(value) || !op.IsLastReader(1 - constant)) {
    return Unimplemented(
        "adds a constant; only a convolution or matrix product without a bias, which nothing else "
        "reads, takes one. Normalisation of the input belongs into the preprocessing");
  }
  DTNN_ASSIGN_OR_RETURN(std::vector<float> bias, BiasOf(op, constant, value));
  Attributes with_bias = attributes;
  for (auto& [name, attribute] : with_bias) {
    if (name == "bias") attribute = int64_t{1};
  }
  AttributeReader read(with_bias);
  std::shared_ptr<const Layer> replaced = layer.type_name() == "FC"
                                              ? FcLayer::FromAttributes<FcLayer>(read)
                                              : Conv2dLayer::FromAttributes(read);
  DTNN_RETURN_IF_ERROR(op.network().AddParameterToLatest(std::move(replaced), std::move(bias)));
  op.SetOutput(value);
  return absl::OkStatus();
}

absl::Status ImportBatchNormalization(OperatorReader& op) {
  DTNN_ASSIGN_OR_RETURN(const ImportedValue input, op.Value(0));
  if (op.Int("training_mode", 0) != 0) {
    return Unimplemented(
        "normalises by the statistics of each batch; export the model in "
        "evaluation mode");
  }
  if (op.Int("spatial", 1) != 1) return Unimplemented("its attribute \"spatial\" is not 1");
  if (input.channels_last || input.rows_first) {
    return Unimplemented("its input has channels last; the operator takes channels first");
  }
  NetworkMaker::Parameters parameters(4);
  using Layer = BatchNormalizationLayer;
  const std::pair<size_t, Layer::Parameter> places[] = {
      {1, Layer::kGamma}, {2, Layer::kBeta}, {3, Layer::kRunningMean}, {4, Layer::kRunningVar}};
  for (const auto& [place, parameter] : places) {
    DTNN_ASSIGN_OR_RETURN(parameters[parameter], VectorOf(op, place, input.shape[0]));
  }
  for (const float variance : parameters[Layer::kRunningVar]) {
    if (variance >= 0 || std::isnan(variance)) continue;  // Finish refuses NaN
    return InvalidArgument("its running variance has the negative number ", variance);
  }
  const BatchNormalizationOptions options = {.momentum = op.Real("momentum", 0.9),
                                             .epsilon = op.Real("epsilon", 1e-5)};
  return op.AddLayer(std::make_shared<Layer>(options), input, std::move(parameters),
                     /*weights=*/1);
}

namespace {

using Norm = GroupNormalizationLayer;

// `gamma` and `beta` come from inputs 1 and 2; without the latter, beta is 0.
absl::Status AddNormalization(OperatorReader& op, const GroupNormalizationOptions& options,
                              const ImportedValue& input, std::vector<float> gamma,
                              std::vector<float> beta) {
  NetworkMaker::Parameters parameters(2);
  parameters[Norm::kGamma] = std::move(gamma);
  parameters[Norm::kBeta] = std::move(beta);
  DTNN_RETURN_IF_ERROR(op.AddLayer(std::make_shared<Norm>(options), input, std::move(parameters),
                                   /*weights=*/1));
  DTNN_ASSIGN_OR_RETURN(ImportedValue output, op.Output());
  output.channels_last = input.channels_last;
  op.SetOutput(output);
  return absl::OkStatus();
}

// A number per channel: a tensor of `shape`, with any axes of one element before it. ONNX aligns
// shapes at their ends, so that (C) is a number per column where channels do not come last.
absl::StatusOr<std::vector<float>> ChannelsOf(OperatorReader& op, size_t input,
                                              std::vector<int64_t> shape) {
  const int64_t channels = shape.front();
  DTNN_ASSIGN_OR_RETURN(TensorValues values, op.Constant(input));
  const auto without_ones = [](const std::vector<int64_t>& dims) {
    return std::vector(std::ranges::find_if(dims, [](int64_t extent) { return extent != 1; }),
                       dims.end());
  };
  if (values.real() && without_ones(values.dims) == without_ones(shape)) {
    return std::move(values.reals);
  }
  return Unimplemented("its input ", input, " has shape ", values.ShapeText(),
                       "; layers have one number for each of the ", channels,
                       " channels: ", TensorValues{.dims = std::move(shape)}.ShapeText());
}

}  // namespace

absl::Status ImportLayerNormalization(OperatorReader& op) {
  DTNN_ASSIGN_OR_RETURN(const ImportedValue input, op.Value(0));
  DTNN_ASSIGN_OR_RETURN(const int64_t axis, AxisOf(op.Int("axis", -1), 1 + input.shape.rank()));
  if (op.Int("stash_type", 1) != 1) return Unimplemented("its attribute \"stash_type\" is not 1");
  if (op.OutputIsUsed(1) || op.OutputIsUsed(2)) {
    return Unimplemented("its mean and deviation are used; layers have one output");
  }
  const bool per_pixel = input.channels_last && axis == 3;
  if (!input.image() || (!per_pixel && (input.channels_last || axis != 1))) {
    return Unimplemented(
        "normalises over other axes than the channels, which come last, or all of an image, whose "
        "channels come first");
  }
  const int64_t channels = input.shape[0];
  std::vector<int64_t> shape = {channels};
  if (!per_pixel) shape.insert(shape.end(), {1, 1});
  DTNN_ASSIGN_OR_RETURN(std::vector<float> gamma, ChannelsOf(op, 1, shape));
  std::vector<float> beta(static_cast<size_t>(channels));
  if (op.Has(2)) {
    DTNN_ASSIGN_OR_RETURN(beta, ChannelsOf(op, 2, shape));
  }
  return AddNormalization(op, {.per_pixel = per_pixel, .epsilon = op.Real("epsilon", 1e-5)}, input,
                          std::move(gamma), std::move(beta));
}

absl::Status ImportInstanceNormalization(OperatorReader& op) {
  DTNN_ASSIGN_OR_RETURN(const ImportedValue input, op.Image(0));
  const int64_t channels = input.shape[0];
  DTNN_ASSIGN_OR_RETURN(std::vector<float> gamma, ChannelsOf(op, 1, {channels}));
  DTNN_ASSIGN_OR_RETURN(std::vector<float> beta, ChannelsOf(op, 2, {channels}));
  return AddNormalization(op, {.groups = channels, .epsilon = op.Real("epsilon", 1e-5)}, input,
                          std::move(gamma), std::move(beta));
}

// Scale and bias have a number per channel, or, in opset 18, per group.
absl::Status ImportGroupNormalization(OperatorReader& op) {
  DTNN_ASSIGN_OR_RETURN(const ImportedValue input, op.Image(0));
  const int64_t channels = input.shape[0], groups = op.Int("num_groups", 0);
  if (groups < 1 || channels % groups != 0) {
    return InvalidArgument("its attribute \"num_groups\" is ", groups, "; expected a divisor of ",
                           channels);
  }
  if (op.Int("stash_type", 1) != 1) return Unimplemented("its attribute \"stash_type\" is not 1");
  const auto vector = [&](size_t place) -> absl::StatusOr<std::vector<float>> {
    DTNN_ASSIGN_OR_RETURN(const TensorValues values, op.Constant(place));
    if (values.count() != groups || groups == channels) return ChannelsOf(op, place, {channels});
    if (!values.real()) return InvalidArgument("its input ", place, " has whole numbers");
    std::vector<float> each;
    for (int64_t c = 0; c < channels; ++c) {
      each.push_back(values.reals[size_t(c / (channels / groups))]);
    }
    return each;
  };
  DTNN_ASSIGN_OR_RETURN(std::vector<float> gamma, vector(1));
  DTNN_ASSIGN_OR_RETURN(std::vector<float> beta, vector(2));
  return AddNormalization(op, {.groups = groups, .epsilon = op.Real("epsilon", 1e-5)}, input,
                          std::move(gamma), std::move(beta));
}

}  // namespace dtnn
