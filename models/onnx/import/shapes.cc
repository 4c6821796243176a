// Operators that change how a value is seen.

#include <algorithm>

#include "layers/channels/channel_shuffle.h"
#include "layers/flatten.h"
#include "models/onnx/import/operators.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

// A vector of the value's elements, which features are already.
absl::Status AddFlatten(OperatorReader& op, const ImportedValue& input) {
  if (!input.image()) {
    op.SetOutput(input);
    return absl::OkStatus();
  }
  DTNN_RETURN_IF_ERROR(op.AddLayer(std::make_shared<FlattenLayer>(), input));
  DTNN_ASSIGN_OR_RETURN(ImportedValue output, op.Output());
  output.rows_first =
      input.channels_last && input.shape[0] > 1 && input.shape[1] * input.shape[2] > 1;
  op.SetOutput(output);
  return absl::OkStatus();
}

// The extents that a Reshape asks for, where they are those that are `expected`; one of them may
// be -1, and the batch 0.
bool AreExtents(const std::vector<int64_t>& asked, std::vector<int64_t> expected, int64_t batch) {
  if (asked.size() != expected.size() + 1 || std::ranges::count(asked, -1) > 1) return false;
  if (asked[0] != -1 && asked[0] != 0 && asked[0] != kBatchExtent &&
      (batch == 0 || asked[0] != batch)) {
    return false;
  }
  return std::ranges::equal(asked.begin() + 1, asked.end(), expected.begin(), expected.end(),
                            [](int64_t a, int64_t b) { return a == b || a == -1; });
}

// The two Reshapes of a channel shuffle, to `shape`: to (N, groups, channels / groups, h, w), and,
// after a Transpose of the groups and their channels, back.
absl::Status GroupChannels(OperatorReader& op, const std::vector<int64_t>& shape) {
  DTNN_ASSIGN_OR_RETURN(ImportedValue value, op.Image(0));
  const int64_t channels = value.shape[0];
  const int64_t asked = shape[1] > 0 ? shape[1] : shape[2] > 0 ? channels / shape[2] : 0;
  if (asked < 1 || channels % asked != 0 ||
      !AreExtents(shape, {asked, channels / asked, value.shape[1], value.shape[2]}, op.batch())) {
    return Unimplemented("reshapes samples of ", value.shape.ToString(),
                         " to 4 axes that are not groups, channels of a group, height and width");
  }
  value.unfinished = Unfinished::kGroups;
  value.groups = asked;
  op.SetOutput(value);
  return absl::OkStatus();
}

absl::Status ShuffleChannels(OperatorReader& op, const std::vector<int64_t>& shape) {
  DTNN_ASSIGN_OR_RETURN(ImportedValue value, op.RawValue(0));
  if (!AreExtents(shape, {value.shape[0], value.shape[1], value.shape[2]}, op.batch())) {
    return Unimplemented("does not reshape the groups of channels that a Transpose made to ",
                         value.shape.ToString(), " again");
  }
  const int64_t groups = value.groups;
  value.unfinished = Unfinished::kNothing;
  value.groups = 0;
  return op.AddLayer(std::make_shared<ChannelShuffleLayer>(groups), value);
}

}  // namespace

absl::Status ImportFlatten(OperatorReader& op) {
  DTNN_ASSIGN_OR_RETURN(const ImportedValue input, op.Value(0));
  DTNN_ASSIGN_OR_RETURN(const int64_t axis, AxisOf(op.Int("axis", 1), 1 + input.shape.rank()));
  if (axis != 1) {
    return Unimplemented("its attribute \"axis\" is ", axis, "; samples are flattened from axis 1");
  }
  return AddFlatten(op, input);
}

namespace {

absl::Status ReshapeConstant(OperatorReader& op, std::vector<int64_t> shape) {
  if (shape.size() > kMostImageAxes) {
    return Unimplemented("makes more than ", kMostImageAxes, " axes");
  }
  DTNN_ASSIGN_OR_RETURN(TensorValues values, op.Constant(0));
  op.Int("allowzero", 0);
  const auto open = std::ranges::find(shape, -1);
  if (open != shape.end()) {
    *open = 1;
    DTNN_ASSIGN_OR_RETURN(const int64_t rest, CountElements(shape));
    if (rest > 0) *open = values.count() / rest;
  }
  DTNN_ASSIGN_OR_RETURN(const int64_t count, CountElements(shape));
  if (count != values.count()) {
    return Unimplemented("reshapes a constant of shape ", values.ShapeText());
  }
  values.dims = std::move(shape);
  op.SetOutput(std::move(values));
  return absl::OkStatus();
}

}  // namespace

// Samples can be reshaped to vectors; other shapes are steps of a channel shuffle.
absl::Status ImportReshape(OperatorReader& op) {
  DTNN_ASSIGN_OR_RETURN(const std::vector<int64_t> shape, op.Integers(1));
  if (op.IsConstant(0)) return ReshapeConstant(op, shape);
  op.Int("allowzero", 0);
  DTNN_ASSIGN_OR_RETURN(const ImportedValue raw, op.RawValue(0));
  if (raw.unfinished == Unfinished::kDealtGroups) return ShuffleChannels(op, shape);
  if (raw.image() && shape.size() == 5) return GroupChannels(op, shape);
  DTNN_ASSIGN_OR_RETURN(const ImportedValue input, op.Value(0));
  const int64_t elements = input.shape.NumElements();
  const bool of_batch = !shape.empty() && (shape[0] == kBatchExtent || shape[0] == 0 ||
                                           (op.batch() > 0 && shape[0] == op.batch()));
  const bool flattens = shape.size() == 2 && (shape[1] == -1 || shape[1] == elements) &&
                        (of_batch || (shape[0] == -1 && shape[1] == elements));
  if (flattens) return AddFlatten(op, input);
  if (input.image()) {
    if (SetAxes(op, input, WantedAxes(op, input, shape))) return absl::OkStatus();
  }
  return Unimplemented("reshapes samples of ", input.shape.ToString(), " to ", TextOf(shape),
                       "; only flattening, to (N, ", elements,
                       "), and channel shuffles are layers, and a number stands for N only where "
                       "the input has it");
}

// Takes axes of one element away: an image of one pixel becomes a vector.
absl::Status ImportSqueeze(OperatorReader& op) {
  DTNN_ASSIGN_OR_RETURN(std::vector<int64_t> axes, AxesGiven(op));
  if (op.IsConstant(0)) {
    DTNN_ASSIGN_OR_RETURN(TensorValues values, op.Constant(0));
    if (values.count() != 1) return Unimplemented("squeezes a constant of several elements");
    values.dims.clear();
    op.SetOutput(std::move(values));
    return absl::OkStatus();
  }
  DTNN_ASSIGN_OR_RETURN(const ImportedValue input, op.Value(0));
  DTNN_ASSIGN_OR_RETURN(axes, SortedAxes(axes, 1 + input.shape.rank()));
  const std::vector<int64_t> spatial =
      input.channels_last ? std::vector<int64_t>{1, 2} : std::vector<int64_t>{2, 3};
  if (input.image() && input.shape[1] * input.shape[2] == 1 && (axes.empty() || axes == spatial)) {
    return AddFlatten(op, input);
  }
  return Unimplemented("squeezes other axes than the height and width of an image of one pixel");
}

namespace {

// Weights that are turned round when the model is imported.
absl::Status TransposeMatrix(OperatorReader& op) {
  DTNN_ASSIGN_OR_RETURN(const TensorValues values, op.Constant(0));
  if (!values.real() || values.dims.size() != 2 ||
      op.Ints("perm", {1, 0}) != std::vector<int64_t>{1, 0}) {
    return Unimplemented("transposes a constant of shape ", values.ShapeText(),
                         "; only matrices of real numbers are");
  }
  TensorValues turned = values;
  const int64_t rows = values.dims[0], columns = values.dims[1];
  turned.dims = {columns, rows};
  // By elements: a matrix without any may have any number of rows.
  for (int64_t i = 0; i < values.count(); ++i) {
    turned.reals[size_t(i % columns * rows + i / columns)] = values.reals[size_t(i)];
  }
  op.SetOutput(std::move(turned));
  return absl::OkStatus();
}

}  // namespace

absl::Status ImportTranspose(OperatorReader& op) {
  if (op.IsConstant(0)) return TransposeMatrix(op);
  DTNN_ASSIGN_OR_RETURN(ImportedValue value, op.RawValue(0));
  const std::vector<int64_t> order = op.Ints("perm", {3, 2, 1, 0});
  if (value.unfinished == Unfinished::kGroups && order == std::vector<int64_t>{0, 2, 1, 3, 4}) {
    value.unfinished = Unfinished::kDealtGroups;
    op.SetOutput(value);
    return absl::OkStatus();
  }
  const bool to_last = order == std::vector<int64_t>{0, 2, 3, 1},
             to_first = order == std::vector<int64_t>{0, 3, 1, 2};
  if (!value.image() || !(value.channels_last ? to_first : to_last) || !value.plain()) {
    if (value.image() && value.plain() &&
        SetAxes(op, value, Transposed(AxesOfImage(value.shape, value.channels_last), order))) {
      return absl::OkStatus();
    }
    return Unimplemented(
        "transposes other than between channels first and channels last of "
        "images, and in a channel shuffle");
  }
  value.channels_last = to_last;
  op.SetOutput(value);
  return absl::OkStatus();
}

}  // namespace dtnn
