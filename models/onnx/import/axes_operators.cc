// Operators that see an image under other axes than (N, c, h, w) and (N, h, w, c): those that
// change the axes, and those that compute along one.

#include <algorithm>
#include <functional>
#include <map>
#include <span>
#include <utility>

#include "layers/channels/channel_slice.h"
#include "layers/group_normalization.h"
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

absl::Status Reshape(OperatorReader& op) {
  DTNN_ASSIGN_OR_RETURN(const ImportedValue value, op.RawValue(0));
  DTNN_ASSIGN_OR_RETURN(std::vector<int64_t> shape, op.Integers(1));
  const auto extents = ExtentsOf(value.axes);
  if (op.Int("allowzero", 0) == 0) {
    for (size_t i = 0; i < shape.size(); ++i) {
      if (shape[i] == 0 && extents && i < extents->size()) shape[i] = (*extents)[i];
    }
  }
  if (SetAxes(op, value, Reshaped(value.axes, shape))) return absl::OkStatus();
  std::string wanted;
  for (const int64_t extent : shape) {
    StrAppend(&wanted, wanted.empty() ? "" : ", ", extent == kBatchExtent ? "N" : StrCat(extent));
  }
  return Unimplemented("reshapes the axes ", ToText(value.axes), " of an image to (", wanted,
                       "), which are not products of them, of heads and of channels of a head");
}

absl::Status Transpose(OperatorReader& op) {
  DTNN_ASSIGN_OR_RETURN(const ImportedValue value, op.RawValue(0));
  std::vector<int64_t> reversed;
  for (size_t i = value.axes.size(); i > 0; --i) reversed.push_back(int64_t(i) - 1);
  if (SetAxes(op, value, Transposed(value.axes, op.Ints("perm", reversed)))) {
    return absl::OkStatus();
  }
  return InvalidArgument("its attribute \"perm\" is not an order of the axes ", ToText(value.axes));
}

// The places that an attribute of older opsets, or an input of later ones, names among `rank` axes.
absl::StatusOr<std::vector<int64_t>> PlacesOf(OperatorReader& op, int64_t rank) {
  std::vector<int64_t> places =
      op.HasAttribute("axes") ? op.Ints("axes", {}) : std::vector<int64_t>();
  if (op.Has(1)) {
    DTNN_ASSIGN_OR_RETURN(places, op.Integers(1));
  }
  for (int64_t& place : places) {
    DTNN_ASSIGN_OR_RETURN(place, AxisOf(place, rank));
  }
  std::ranges::sort(places);
  return places;
}

absl::Status Unsqueeze(OperatorReader& op) {
  DTNN_ASSIGN_OR_RETURN(const ImportedValue value, op.RawValue(0));
  const size_t added = op.Has(1) ? op.Integers(1).value_or(std::vector<int64_t>()).size()
                                 : op.Ints("axes", {}).size();
  if (value.axes.size() + added > kMostImageAxes)
    return Unimplemented("makes more than ", kMostImageAxes, " axes");
  DTNN_ASSIGN_OR_RETURN(const std::vector<int64_t> places,
                        PlacesOf(op, int64_t(value.axes.size() + added)));
  Axes axes = value.axes;
  for (const int64_t place : places) {
    if (place > int64_t(axes.size())) return InvalidArgument("names an axis twice");
    axes.insert(axes.begin() + place, Axis());
  }
  SetAxes(op, value, std::move(axes));
  return absl::OkStatus();
}

absl::Status Squeeze(OperatorReader& op) {
  DTNN_ASSIGN_OR_RETURN(const ImportedValue value, op.RawValue(0));
  DTNN_ASSIGN_OR_RETURN(const std::vector<int64_t> places,
                        PlacesOf(op, int64_t(value.axes.size())));
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

// Some of the outermost parts of the channels: begin .. end - 1 of axis `place`.
absl::Status TakePart(OperatorReader& op, const ImportedValue& value, int64_t place, int64_t begin,
                      int64_t end, bool keeps_axis) {
  const Axis& axis = value.axes[size_t(place)];
  const AxisFactor part = axis.size() == 1 ? axis[0] : AxisFactor();
  if (part.of != AxisFactor::Of::kChannels || part.extent * part.step != value.shape[0]) {
    return Unimplemented(
        "takes a part of axis ", place, " of ", ToText(value.axes),
        "; only channels of images are divided, along the outermost of their axes");
  }
  if (begin < 0 || begin >= end || end > part.extent) {
    return InvalidArgument("takes places ", begin, " to ", end - 1, " of axis ", place, " of ",
                           ToText(value.axes));
  }
  ImportedValue image = value;
  image.axes.clear();
  DTNN_RETURN_IF_ERROR(op.AddLayer(
      std::make_shared<ChannelSliceLayer>(begin * part.step, (end - begin) * part.step), image));
  DTNN_ASSIGN_OR_RETURN(const ImportedValue output, op.Output());
  Axes axes = value.axes;
  axes[size_t(place)] = ChannelAxis(end - begin, part.step);
  if (!keeps_axis) axes.erase(axes.begin() + place);
  SetAxes(op, output, std::move(axes));
  return absl::OkStatus();
}

absl::Status Gather(OperatorReader& op) {
  op.TakeAnyAxes();
  DTNN_ASSIGN_OR_RETURN(const ImportedValue value, op.Value(0));
  DTNN_ASSIGN_OR_RETURN(const TensorValues index, op.Constant(1));
  DTNN_ASSIGN_OR_RETURN(const int64_t place, AxisOf(op.Int("axis", 0), int64_t(value.axes.size())));
  if (index.real() || !index.dims.empty() || index.count() != 1) {
    return Unimplemented("gathers several places of an axis; one can be taken");
  }
  int64_t begin = index.integers[0];
  if (begin < 0 && value.axes[size_t(place)].size() == 1)
    begin += value.axes[size_t(place)][0].extent;
  return TakePart(op, value, place, begin, begin + 1, /*keeps_axis=*/false);
}

absl::Status Slice(OperatorReader& op) {
  op.TakeAnyAxes();
  DTNN_ASSIGN_OR_RETURN(const ImportedValue value, op.Value(0));
  DTNN_ASSIGN_OR_RETURN(SliceBounds bounds, BoundsOf(op));
  DTNN_RETURN_IF_ERROR(CheckBounds(bounds));
  DTNN_ASSIGN_OR_RETURN(bounds.axis, AxisOf(bounds.axis, int64_t(value.axes.size())));
  const Axis& axis = value.axes[size_t(bounds.axis)];
  if (axis.size() != 1 || axis[0].of == AxisFactor::Of::kSamples) {
    return Unimplemented("takes a part of axis ", bounds.axis, " of ", ToText(value.axes),
                         "; only channels of images are divided");
  }
  const auto [begin, end] = bounds.In(axis[0].extent);
  return TakePart(op, value, bounds.axis, begin, end, /*keeps_axis=*/true);
}

// The bias of a product of pixels, which stands beside it.
absl::Status Bias(OperatorReader& op, size_t constant) {
  DTNN_ASSIGN_OR_RETURN(const ImportedValue value, WithChannelsLast(op, 1 - constant));
  DTNN_ASSIGN_OR_RETURN(std::vector<float> bias, op.Vector(constant, value.shape[0]));
  return AddBias(op, 1 - constant, value, std::move(bias));
}

absl::Status Add(OperatorReader& op) {
  if (op.IsConstant(0) || op.IsConstant(1)) return Bias(op, op.IsConstant(0) ? 0 : 1);
  op.TakeAnyAxes();
  return ImportSum(op);
}

// A fully connected layer of rows, which are pixels.
absl::Status Gemm(OperatorReader& op) {
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
absl::Status MatMul(OperatorReader& op) {
  if (!op.IsConstant(1)) return ImportMatMulOfAxes(op);
  DTNN_ASSIGN_OR_RETURN(const ImportedValue value, WithChannelsLast(op, 0));
  DTNN_RETURN_IF_ERROR(AddProductOfPixels(op, value, /*transposed=*/false));
  return SetAxesWithChannelsLast(op, value);
}

absl::Status LayerNormalization(OperatorReader& op) {
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

// What an operator does that axes do not matter to.
template <ImportOperator kImport>
absl::Status OfAnyAxes(OperatorReader& op) {
  op.TakeAnyAxes();
  return kImport(op);
}

using Table = std::map<std::string_view, ImportOperator, std::less<>>;

const Table& OperatorsOfAxes() {
  static const Table& table = *new Table{
      {"Add", Add},
      {"Div", ImportFactorOfAxes},
      {"Dropout", OfAnyAxes<ImportDropout>},
      {"Gather", Gather},
      {"Gelu", OfAnyAxes<ImportGelu>},
      {"Gemm", Gemm},
      {"Identity", ImportIdentity},
      {"LayerNormalization", LayerNormalization},
      {"MatMul", MatMul},
      {"Mul", ImportFactorOfAxes},
      {"Relu", OfAnyAxes<ImportRelu>},
      {"Reshape", Reshape},
      {"Shape", ImportShape},
      {"Slice", Slice},
      {"Softmax", ImportSoftmaxOfAxes},
      {"Squeeze", Squeeze},
      {"Transpose", Transpose},
      {"Unsqueeze", Unsqueeze},
  };
  return table;
}

}  // namespace

ImportOperator FindImportOfAxes(std::string_view op_type) {
  const auto found = OperatorsOfAxes().find(op_type);
  return found == OperatorsOfAxes().end() ? nullptr : found->second;
}

std::string ImportedOperatorsOfAxes() {
  std::string names;
  for (const auto& [name, function] : OperatorsOfAxes()) {
    StrAppend(&names, names.empty() ? "" : ", ", name);
  }
  return names;
}

}  // namespace dtnn
