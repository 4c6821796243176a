// Matrix products, and the biases of layers.

#include <algorithm>
#include <span>
#include <utility>

#include "layers/conv2d.h"
#include "layers/fc.h"
#include "layers/image_fc.h"
#include "layers/pixels/scale.h"
#include "models/onnx/import/operators.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

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

absl::StatusOr<std::vector<float>> EachOf(OperatorReader& op, size_t input,
                                          const ImportedValue& value, std::string_view what) {
  DTNN_ASSIGN_OR_RETURN(TensorValues values, op.Constant(input));
  const int64_t channels = value.shape[0];
  // Axes are compared from the last on, where the batch is one more.
  std::vector<int64_t> expected(1 + size_t(value.shape.rank()), 1);
  expected[value.image() ? (value.channels_last ? 3 : 1) : 1] = channels;
  const size_t rank = values.dims.size();
  if (what != "bias" && values.real() && values.count() == 1 && rank <= expected.size()) {
    // The same for all.
    return std::vector<float>(size_t(channels), values.reals[0]);
  }
  const bool fits =
      values.real() && values.count() == channels && rank <= expected.size() &&
      std::ranges::equal(values.dims, std::span(expected).subspan(expected.size() - rank));
  if (fits) return std::move(values.reals);
  return Unimplemented(
      what == "bias" ? "adds" : "multiplies", " a constant of shape ", values.ShapeText(),
      what == "bias" ? " to" : " with", " samples of ", value.shape.ToString(), "; a ", what,
      " has an element for each channel, of shape ", TensorValues{.dims = expected}.ShapeText());
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
    DTNN_ASSIGN_OR_RETURN(std::vector<float> bias, op.Vector(2, outputs));
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

absl::Status AddProductOfPixels(OperatorReader& op, const ImportedValue& image, bool transposed) {
  int64_t filters = 0;
  DTNN_ASSIGN_OR_RETURN(const std::vector<float> matrix, MatrixOf(op, image, transposed, &filters));
  const int64_t channels = image.shape[0];
  std::vector<float> weights(matrix.size());  // (filters, channels)
  for (int64_t filter = 0; filter < filters; ++filter) {
    for (int64_t channel = 0; channel < channels; ++channel) {
      weights[size_t(filter * channels + channel)] = matrix[size_t(channel * filters + filter)];
    }
  }
  const Conv2dOptions options = {.bias = false, .grouping = ConvGrouping::kPointwise};
  return AddElementwise(op, std::make_shared<Conv2dLayer>(filters, options), std::span(&image, 1),
                        {std::move(weights)}, /*weights=*/1);
}

absl::Status ImportMatMul(OperatorReader& op) {
  DTNN_ASSIGN_OR_RETURN(const ImportedValue value, op.Value(0));
  if (value.image() && value.channels_last) {
    return AddProductOfPixels(op, value, /*transposed=*/false);
  }
  if (value.image()) {
    return Unimplemented("multiplies the columns of an image of ", value.shape.ToString(),
                         "; layers multiply features, or channels that come last");
  }
  DTNN_ASSIGN_OR_RETURN(const ImportedValue input, op.Features(0));
  int64_t outputs = 0;
  DTNN_ASSIGN_OR_RETURN(std::vector<float> matrix,
                        MatrixOf(op, input, /*transposed=*/false, &outputs));
  NetworkMaker::Parameters parameters = {std::move(matrix)};
  return op.AddLayer(std::make_shared<FcLayer>(outputs, FcOptions{.bias = false}), input,
                     std::move(parameters), /*weights=*/1);
}

bool IsScaleOfChannels(OperatorReader& op) {
  const size_t constant = op.IsConstant(0) ? 0 : 1;
  const auto image = op.Value(1 - constant);
  const auto values = op.Constant(constant);
  return image.ok() && image->image() && values.ok() && values->real() &&
         (values->count() == image->shape[0] || values->count() == 1);
}

absl::Status AddScaleOfChannels(OperatorReader& op, const ImportedValue& image,
                                std::vector<float> factors, int weights) {
  const Conv2dOptions options = {.kernel = 1, .bias = false, .grouping = ConvGrouping::kDepthwise};
  return AddElementwise(op, std::make_shared<Conv2dLayer>(image.shape[0], options),
                        std::span(&image, 1), {std::move(factors)}, weights);
}

absl::Status ImportScaleOfChannels(OperatorReader& op) {
  const size_t constant = op.IsConstant(0) ? 0 : 1;
  DTNN_ASSIGN_OR_RETURN(const ImportedValue image, op.Value(1 - constant));
  DTNN_ASSIGN_OR_RETURN(std::vector<float> factors, EachOf(op, constant, image, "factor"));
  DTNN_ASSIGN_OR_RETURN(const TensorValues constants, op.Constant(constant));
  if (!constants.dims.empty()) {
    return AddScaleOfChannels(op, image, std::move(factors), int(constant));
  }
  // As numbers in the code of a network have none.
  const double factor = ShortestReal(constants.reals[0]);
  DTNN_RETURN_IF_ERROR(
      AddElementwise(op, std::make_shared<ScaleLayer>(factor), std::span(&image, 1)));
  DTNN_ASSIGN_OR_RETURN(const ImportedValue product, op.Output());
  op.AddNote(StrCat("Layer ", Quoted(op.network().NameOf(product)), " multiplies by the number ",
                    factor, ", which training does not change."));
  return absl::OkStatus();
}

namespace {

absl::Status NoBias() {
  return Unimplemented(
      "adds a constant; only a convolution or matrix product without a bias, which nothing else "
      "reads, takes one. Normalisation of the input, (x - mean) / std of each channel, is read "
      "where nothing else reads the input; elsewhere leave it out, and give import its mean and "
      "std");
}

}  // namespace

absl::Status ImportBias(OperatorReader& op) {
  const size_t constant = op.IsConstant(0) ? 0 : 1;
  DTNN_ASSIGN_OR_RETURN(const ImportedValue value, op.Value(1 - constant));
  if (ArePositions(op, constant, value)) return ImportPositions(op, constant, value);
  DTNN_ASSIGN_OR_RETURN(std::vector<float> bias, EachOf(op, constant, value, "bias"));
  return AddBias(op, 1 - constant, value, std::move(bias));
}

absl::Status AddBias(OperatorReader& op, size_t input, const ImportedValue& value,
                     std::vector<float> bias) {
  if (op.IsLastReader(input)) return AddBiasToLatest(op, value, std::move(bias));
  return NoBias();
}

bool TakesBias(OperatorReader& op, const ImportedValue& value) {
  const Layer& layer = op.network().LayerOf(value);
  const Attributes attributes = layer.attributes();
  return (layer.type_name() == "FC" || layer.type_name() == "Conv2D") &&
         op.network().IsLatest(value) &&
         std::ranges::find(attributes, std::pair(std::string("bias"), Attribute(int64_t{0}))) !=
             attributes.end();
}

absl::Status AddBiasToLatest(OperatorReader& op, const ImportedValue& value,
                             std::vector<float> bias) {
  const Layer& layer = op.network().LayerOf(value);
  const Attributes attributes = layer.attributes();
  if (!TakesBias(op, value)) return NoBias();
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

}  // namespace dtnn
