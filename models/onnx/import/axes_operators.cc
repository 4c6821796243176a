// Operators that see an image under other axes than (N, c, h, w) and (N, h, w, c): those that
// change the axes, and those that compute along one.

#include <algorithm>
#include <span>
#include <utility>

#include "layers/normalization/group_normalization.h"
#include "models/onnx/import/operators.h"
#include "tensor/errors.h"

namespace dtnn {

bool SetAxes(OperatorReader& op, ImportedValue value, std::optional<Axes> axes) {
  if (!axes) return false;
  value.axes = *std::move(axes);
  for (const bool last : {false, true}) {
    if (value.axes != AxesOfImage(value.shape, last)) continue;
    value.axes.clear();
    value.channels_last = last;
    break;
  }
  op.SetOutput(value);
  return true;
}

Axes AxesOf(const ImportedValue& value) {
  return value.axes.empty() ? AxesOfImage(value.shape, value.channels_last) : value.axes;
}

std::optional<Axes> WantedAxes(OperatorReader& op, const ImportedValue& value,
                               std::vector<int64_t> shape) {
  const Axes axes = AxesOf(value);
  const auto extents = ExtentsOf(axes);
  if (op.Int("allowzero", 0) == 0 && extents) {
    for (size_t i = 0; i < shape.size() && i < extents->size(); ++i) {
      if (shape[i] == 0) shape[i] = (*extents)[i];
    }
  }
  return Reshaped(axes, shape, op.batch());
}

namespace {

// An input whose channels are its last axis, alone.
absl::StatusOr<ImportedValue> WithChannelsLast(OperatorReader& op, size_t input) {
  op.TakeAnyAxes();
  DTNN_ASSIGN_OR_RETURN(const ImportedValue value, op.Value(input));
  if (AxesOf(value).back() == ChannelAxis(value.shape[0])) return value;
  return Unimplemented("computes along the last of the axes ", ToText(AxesOf(value)),
                       ", which is not that of all ", value.shape[0], " channels");
}

// The axes of `input`, with as many channels at the end as the output has.
absl::Status SetAxesWithChannelsLast(OperatorReader& op, const ImportedValue& input) {
  DTNN_ASSIGN_OR_RETURN(ImportedValue output, op.Output());
  Axes axes = AxesOf(input);
  axes.back() = ChannelAxis(output.shape[0]);
  output.axes.clear();
  SetAxes(op, output, std::move(axes));
  return absl::OkStatus();
}

}  // namespace

absl::Status ImportReshapeOfAxes(OperatorReader& op) {
  DTNN_ASSIGN_OR_RETURN(const ImportedValue value, op.RawValue(0));
  DTNN_ASSIGN_OR_RETURN(const std::vector<int64_t> shape, op.Integers(1));
  if (SetAxes(op, value, WantedAxes(op, value, shape))) return absl::OkStatus();
  return Unimplemented("reshapes the axes ", ToText(value.axes), " of an image to ", TextOf(shape),
                       ", which are not products of them, of heads and of channels of a head; a "
                       "number stands for N only where the input has it");
}

absl::Status ImportTransposeOfAxes(OperatorReader& op) {
  DTNN_ASSIGN_OR_RETURN(const ImportedValue value, op.RawValue(0));
  std::vector<int64_t> reversed;
  for (size_t i = value.axes.size(); i > 0; --i) reversed.push_back(int64_t(i) - 1);
  if (SetAxes(op, value, Transposed(value.axes, op.Ints("perm", reversed)))) {
    return absl::OkStatus();
  }
  return InvalidArgument("its attribute \"perm\" is not an order of the axes ", ToText(value.axes));
}

absl::Status ImportUnsqueezeOfAxes(OperatorReader& op) {
  DTNN_ASSIGN_OR_RETURN(const ImportedValue value, op.RawValue(0));
  DTNN_ASSIGN_OR_RETURN(const std::vector<int64_t> given, AxesGiven(op));
  Axes axes = value.axes;
  if (axes.size() + given.size() > kMostImageAxes) {
    return Unimplemented("makes more than ", kMostImageAxes, " axes");
  }
  DTNN_ASSIGN_OR_RETURN(const std::vector<int64_t> places,
                        SortedAxes(given, int64_t(axes.size() + given.size())));
  for (const int64_t place : places) axes.insert(axes.begin() + place, Axis());
  SetAxes(op, value, std::move(axes));
  return absl::OkStatus();
}

absl::Status ImportSqueezeOfAxes(OperatorReader& op) {
  DTNN_ASSIGN_OR_RETURN(const ImportedValue value, op.RawValue(0));
  DTNN_ASSIGN_OR_RETURN(const std::vector<int64_t> given, AxesGiven(op));
  DTNN_ASSIGN_OR_RETURN(const std::vector<int64_t> places,
                        SortedAxes(given, int64_t(value.axes.size())));
  Axes axes;
  for (size_t i = 0; i < value.axes.size(); ++i) {
    const bool named = std::ranges::find(places, int64_t(i)) != places.end();
    if (named && !value.axes[i].empty()) {
      return InvalidArgument("takes axis ", i, " of ", ToText(value.axes),
                             " away, which has several elements");
    }
    if (!named && !(places.empty() && value.axes[i].empty())) axes.push_back(value.axes[i]);
  }
  SetAxes(op, value, std::move(axes));
  return absl::OkStatus();
}

namespace {

// A constant with an element for each channel, the last axis.
absl::StatusOr<std::vector<float>> LastOf(OperatorReader& op, size_t constant,
                                          const ImportedValue& value) {
  DTNN_ASSIGN_OR_RETURN(const TensorValues values, op.Constant(constant));
  if (values.real() && values.count() > 1 && values.count() != value.shape[0]) {
    return Unimplemented("computes with a constant of shape ", values.ShapeText(),
                         "; layers have one number for each of the ", value.shape[0], " channels");
  }
  if (values.dims.size() <= value.rank()) return op.Vector(constant, value.shape[0]);
  return Unimplemented("computes with a constant of shape ", values.ShapeText(), " and the axes ",
                       ToText(AxesOf(value)), ", which are fewer");
}

}  // namespace

// The sum of two images; or the bias of a product of pixels, which stands beside it.
absl::Status ImportAddOfAxes(OperatorReader& op) {
  DTNN_ASSIGN_OR_RETURN(const bool step, ImportStepOfGelu(op));
  if (step) return absl::OkStatus();
  op.TakeAnyAxes();
  if (!op.IsConstant(0) && !op.IsConstant(1)) return ImportSum(op);
  const size_t constant = op.IsConstant(0) ? 0 : 1;
  DTNN_ASSIGN_OR_RETURN(ImportedValue value, op.Value(1 - constant));
  if (ArePositions(op, constant, value)) return ImportPositions(op, constant, value);
  DTNN_ASSIGN_OR_RETURN(value, WithChannelsLast(op, 1 - constant));
  DTNN_ASSIGN_OR_RETURN(std::vector<float> bias, LastOf(op, constant, value));
  return AddBias(op, 1 - constant, value, std::move(bias));
}

absl::Status ImportSliceOfAxes(OperatorReader& op) {
  DTNN_ASSIGN_OR_RETURN(const std::vector<SliceBounds> bounds, BoundsOf(op));
  return ImportSliceOfImage(op, bounds);
}

absl::Status ImportDivOfAxes(OperatorReader& op) {
  DTNN_ASSIGN_OR_RETURN(const bool step, ImportStepOfGelu(op));
  return step ? absl::OkStatus() : ImportFactorOfAxes(op);
}

// A product with one number, or with one for each channel; or the last step of an activation.
absl::Status ImportMulOfAxes(OperatorReader& op) {
  DTNN_ASSIGN_OR_RETURN(const bool step, ImportStepOfGelu(op));
  if (step) return absl::OkStatus();
  if (!op.IsConstant(0) && !op.IsConstant(1)) {
    op.TakeAnyAxes();
    DTNN_ASSIGN_OR_RETURN(const bool last, ImportLastProduct(op));
    if (last) return absl::OkStatus();
  }
  const size_t constant = op.IsConstant(0) ? 0 : 1;
  const auto values = op.Constant(constant);
  if (!values.ok() || !values->real() || values->count() == 1) return ImportFactorOfAxes(op);
  DTNN_ASSIGN_OR_RETURN(const ImportedValue value, WithChannelsLast(op, 1 - constant));
  DTNN_ASSIGN_OR_RETURN(std::vector<float> factors, LastOf(op, constant, value));
  return AddScaleOfChannels(op, value, std::move(factors), int(constant));
}

// A fully connected layer of rows, which are pixels.
absl::Status ImportGemmOfAxes(OperatorReader& op) {
  DTNN_ASSIGN_OR_RETURN(const ImportedValue value, WithChannelsLast(op, 0));
  if (op.Int("transA", 0) != 0 || op.Real("alpha", 1) != 1 || op.Real("beta", 1) != 1) {
    return Unimplemented(
        "has other attributes than \"transB\"; of rows that are pixels, these are not read");
  }
  DTNN_RETURN_IF_ERROR(AddProductOfPixels(op, value, op.Int("transB", 0) != 0));
  DTNN_RETURN_IF_ERROR(SetAxesWithChannelsLast(op, value));
  if (!op.Has(2)) return absl::OkStatus();
  DTNN_ASSIGN_OR_RETURN(const ImportedValue product, op.Output());
  DTNN_ASSIGN_OR_RETURN(std::vector<float> bias, op.Vector(2, product.shape[0]));
  return AddBiasToLatest(op, product, std::move(bias));
}

// A product with a matrix, of the pixels; or of two images.
absl::Status ImportProductOfAxes(OperatorReader& op) {
  if (!op.IsConstant(1)) return ImportMatMulOfAxes(op);
  DTNN_ASSIGN_OR_RETURN(const ImportedValue value, WithChannelsLast(op, 0));
  DTNN_RETURN_IF_ERROR(AddProductOfPixels(op, value, /*transposed=*/false));
  return SetAxesWithChannelsLast(op, value);
}

absl::Status ImportLayerNormalizationOfAxes(OperatorReader& op) {
  DTNN_ASSIGN_OR_RETURN(const ImportedValue value, WithChannelsLast(op, 0));
  DTNN_ASSIGN_OR_RETURN(const int64_t axis, AxisOf(op.Int("axis", -1), int64_t(value.axes.size())));
  if (axis + 1 != int64_t(value.axes.size()) || op.Int("stash_type", 1) != 1 ||
      op.OutputIsUsed(1) || op.OutputIsUsed(2)) {
    return Unimplemented("normalises over other axes than the last, or has more than one output");
  }
  using Norm = GroupNormalizationLayer;
  NetworkMaker::Parameters parameters(2);
  DTNN_ASSIGN_OR_RETURN(parameters[Norm::kGamma], op.Vector(1, value.shape[0]));
  parameters[Norm::kBeta].resize(size_t(value.shape[0]));
  if (op.Has(2)) {
    DTNN_ASSIGN_OR_RETURN(parameters[Norm::kBeta], op.Vector(2, value.shape[0]));
  }
  const GroupNormalizationOptions options = {.per_pixel = true,
                                             .epsilon = op.Real("epsilon", 1e-5)};
  return AddElementwise(op, std::make_shared<Norm>(options), std::span(&value, 1),
                        std::move(parameters), /*weights=*/1);
}

}  // namespace dtnn
