// Constants that are made as large as a shape says, and shapes that name only some of their
// extents, as PyTorch's expand has them: Expand, ConstantOfShape, Equal and Where.

#include <algorithm>
#include <utility>

#include "models/onnx/import/operators.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

// Real numbers, of which only the samples of a batch get copies: a class token.
absl::Status ExpandForEachSample(OperatorReader& op, TensorValues values,
                                 const std::vector<int64_t>& shape) {
  if (shape.size() > kMostImageAxes) {
    return Unimplemented("repeats a constant along more than ", kMostImageAxes, " axes");
  }
  std::vector<int64_t>& dims = values.dims;
  if (dims.size() < shape.size()) dims.insert(dims.begin(), shape.size() - dims.size(), 1);
  const bool of_batch =
      !shape.empty() && (shape[0] == kBatchExtent || (shape[0] > 0 && shape[0] == op.batch()));
  bool repeats = of_batch && dims.size() == shape.size() && dims[0] == 1;
  for (size_t i = 1; i < shape.size() && repeats; ++i) {
    repeats = shape[i] == 1 || shape[i] == dims[i];
  }
  if (!repeats) {
    return Unimplemented("repeats a constant of shape ", values.ShapeText(), " to ", TextOf(shape),
                         "; real numbers are repeated for each sample of a batch alone, as a class "
                         "token is");
  }
  op.SetOutput(ForEachSample{std::move(values)});
  return absl::OkStatus();
}

absl::StatusOr<TensorValues> WholeConstant(OperatorReader& op, size_t input) {
  DTNN_ASSIGN_OR_RETURN(TensorValues values, op.Constant(input));
  if (!values.real()) return values;
  return Unimplemented("computes with real constants");
}

}  // namespace

absl::Status ImportExpand(OperatorReader& op) {
  if (!op.IsConstant(0)) {
    return Unimplemented(
        "repeats what the network computes; layers add and multiply images of one shape, and "
        "factors of channels");
  }
  DTNN_ASSIGN_OR_RETURN(WholeNumbers numbers, op.Numbers(0));
  DTNN_ASSIGN_OR_RETURN(const std::vector<int64_t> shape, op.Integers(1));
  if (numbers.first.real()) return ExpandForEachSample(op, std::move(numbers.first), shape);
  if (std::ranges::any_of(shape, IsOfBatch)) {
    return Unimplemented("computes with the size of the batch, which may be any");
  }
  DTNN_ASSIGN_OR_RETURN(const int64_t count, CountElements(shape));
  if (count > kMostNumbers) return Unimplemented("makes ", count, " numbers");
  const TensorValues zeros = {.dims = shape, .integers = std::vector<int64_t>(size_t(count))};
  DTNN_ASSIGN_OR_RETURN(WholeNumbers result, Arithmetic("Add", numbers, {zeros}));
  op.SetOutput(std::move(result));
  return absl::OkStatus();
}

absl::Status ImportConstantOfShape(OperatorReader& op) {
  DTNN_ASSIGN_OR_RETURN(const std::vector<int64_t> shape, op.Integers(0));
  TensorValues value = {.integers = {}};  // left out: a real number
  if (op.HasAttribute("value")) {
    DTNN_ASSIGN_OR_RETURN(value, op.Tensor("value"));
  }
  if (value.integers.size() != 1 || shape.size() > kMostImageAxes) {
    return Unimplemented("makes other than copies of a whole number, or more than ", kMostImageAxes,
                         " axes");
  }
  DTNN_ASSIGN_OR_RETURN(const int64_t count, CountElements(shape));
  if (count > kMostNumbers) return Unimplemented("makes ", count, " numbers");
  op.SetOutput(TensorValues{.dims = shape,
                            .integers = std::vector<int64_t>(size_t(count), value.integers[0])});
  return absl::OkStatus();
}

absl::Status ImportWhere(OperatorReader& op) {
  if (!op.IsConstant(0)) return ImportWhereOfValues(op);
  DTNN_ASSIGN_OR_RETURN(const TensorValues condition, WholeConstant(op, 0));
  DTNN_ASSIGN_OR_RETURN(TensorValues chosen, WholeConstant(op, 1));
  DTNN_ASSIGN_OR_RETURN(const TensorValues otherwise, WholeConstant(op, 2));
  if (condition.dims != chosen.dims || condition.dims != otherwise.dims) {
    return Unimplemented("chooses between constants of the shapes ", chosen.ShapeText(), " and ",
                         otherwise.ShapeText(), ", by one of ", condition.ShapeText(),
                         "; expected one shape");
  }
  for (size_t i = 0; i < chosen.integers.size(); ++i) {
    if (condition.integers[i] == 0) chosen.integers[i] = otherwise.integers[i];
  }
  op.SetOutput(std::move(chosen));
  return absl::OkStatus();
}

}  // namespace dtnn
