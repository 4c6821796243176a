// Operators on constants, which are computed when the model is imported: the arithmetic of shapes
// that exports have before a Reshape. The batch, whose size is not known, is handed on as it is.

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "models/onnx/import/operators.h"
#include "tensor/errors.h"

namespace dtnn {

absl::Status ImportConstant(OperatorReader& op) {
  TensorValues values;
  if (op.HasAttribute("value_int")) {
    values.integers = {op.Int("value_int", 0)};
  } else if (op.HasAttribute("value_ints")) {
    values = TensorValues::OfIntegers(op.Ints("value_ints", {}));
  } else if (op.HasAttribute("value_float")) {
    values.type = OnnxType::kFloat32;
    values.reals = {float(op.Real("value_float", 0))};
  } else {
    DTNN_ASSIGN_OR_RETURN(values, op.Tensor("value"));
  }
  op.SetOutput(std::move(values));
  return absl::OkStatus();
}

absl::Status ImportShape(OperatorReader& op) {
  TensorValues shape;
  if (op.IsConstant(0)) {
    DTNN_ASSIGN_OR_RETURN(const TensorValues values, op.Constant(0));
    shape = TensorValues::OfIntegers(values.dims);
  } else {
    op.TakeAnyAxes();
    DTNN_ASSIGN_OR_RETURN(const ImportedValue value, op.Value(0));
    std::vector<int64_t> extents = {kBatchExtent};
    for (const int64_t extent : value.shape.extents()) extents.push_back(extent);
    if (value.channels_last) std::rotate(&extents[1], &extents[2], &extents[1] + 3);
    if (!value.axes.empty()) {
      const auto seen = ExtentsOf(value.axes);
      if (!seen) {
        return Unimplemented("asks for the axes ", ToText(value.axes),
                             ", whose extents depend on the size of the batch, which may be any");
      }
      extents = *seen;
    }
    shape = TensorValues::OfIntegers(std::move(extents));
  }
  const auto rank = int64_t(shape.integers.size());
  const auto bound = [&](std::string_view name, int64_t otherwise) {
    const int64_t given = op.Int(name, otherwise);
    return std::clamp<int64_t>(given < 0 ? given + rank : given, 0, rank);
  };
  const int64_t start = bound("start", 0), end = std::max(start, bound("end", rank));
  op.SetOutput(
      TensorValues::OfIntegers({shape.integers.begin() + start, shape.integers.begin() + end}));
  return absl::OkStatus();
}

absl::Status ImportGather(OperatorReader& op) {
  if (!op.IsConstant(0)) return ImportGatherOfImage(op);
  DTNN_ASSIGN_OR_RETURN(const std::vector<int64_t> from, op.Integers(0));
  DTNN_ASSIGN_OR_RETURN(TensorValues indices, op.Constant(1));
  if (op.Int("axis", 0) != 0 || indices.real()) return Unimplemented("gathers not from a shape");
  for (int64_t& index : indices.integers) {
    DTNN_ASSIGN_OR_RETURN(const int64_t place, AxisOf(index, int64_t(from.size())));
    index = from[size_t(place)];
  }
  op.SetOutput(std::move(indices));
  return absl::OkStatus();
}

absl::Status ImportUnsqueeze(OperatorReader& op) {
  DTNN_ASSIGN_OR_RETURN(std::vector<int64_t> axes, AxesGiven(op));
  DTNN_ASSIGN_OR_RETURN(WholeNumbers numbers, op.Numbers(0));
  std::vector<int64_t>& dims = numbers.first.dims;
  if (dims.size() + axes.size() > kMostImageAxes) {
    return Unimplemented("makes more than ", kMostImageAxes, " axes");
  }
  DTNN_ASSIGN_OR_RETURN(axes, SortedAxes(axes, int64_t(dims.size() + axes.size())));
  for (const int64_t axis : axes) dims.insert(dims.begin() + axis, 1);
  if (numbers.step != 0 && !axes.empty() && axes[0] == 0) {
    return Unimplemented("puts an axis before that of the samples");
  }
  op.SetOutput(std::move(numbers));
  return absl::OkStatus();
}

absl::Status ImportRange(OperatorReader& op) {
  int64_t bounds[3] = {};
  for (size_t i = 0; i < 3; ++i) {
    DTNN_ASSIGN_OR_RETURN(const std::vector<int64_t> numbers, op.Integers(i));
    if (numbers.size() != 1) return InvalidArgument("its input ", i, " is not one whole number");
    bounds[i] = numbers[0];
  }
  DTNN_ASSIGN_OR_RETURN(WholeNumbers numbers, RangeOf(bounds[0], bounds[1], bounds[2]));
  op.SetOutput(std::move(numbers));
  return absl::OkStatus();
}

std::pair<int64_t, int64_t> SliceBounds::In(int64_t extent) const {
  const auto bound = [&](int64_t given) {
    return std::clamp<int64_t>(given < 0 ? std::max(given, -extent) + extent : given, 0, extent);
  };
  const int64_t begin = bound(start);
  return {begin, std::max(begin, bound(end))};
}

absl::StatusOr<std::vector<SliceBounds>> BoundsOf(OperatorReader& op) {
  std::vector<int64_t> starts, ends, axes, steps;
  if (op.num_inputs() > 1) {
    DTNN_ASSIGN_OR_RETURN(starts, op.Integers(1));
    DTNN_ASSIGN_OR_RETURN(ends, op.Integers(2));
    if (op.Has(3)) {
      DTNN_ASSIGN_OR_RETURN(axes, op.Integers(3));
    }
    if (op.Has(4)) {
      DTNN_ASSIGN_OR_RETURN(steps, op.Integers(4));
    }
  } else {
    starts = op.Ints("starts", {});
    ends = op.Ints("ends", {});
    axes = op.Ints("axes", {});
  }
  const size_t count = starts.size();
  if (axes.empty()) {
    axes.resize(count);
    std::iota(axes.begin(), axes.end(), 0);
  }
  if (steps.empty()) steps.assign(count, 1);
  if (ends.size() != count || axes.size() != count || steps.size() != count) {
    return InvalidArgument("has ", count, " starts, ", ends.size(), " ends, ", axes.size(),
                           " axes and ", steps.size(), " steps; expected as many of each");
  }
  std::vector<SliceBounds> bounds;
  for (size_t i = 0; i < count; ++i) {
    if (IsOfBatch(starts[i]) || IsOfBatch(ends[i])) {
      return Unimplemented("takes as many places as the batch has samples, which may be any");
    }
    if (steps[i] < 1) {
      return Unimplemented("slices in steps of ", steps[i], "; steps from 1 on are read");
    }
    bounds.push_back({axes[i], starts[i], ends[i], steps[i]});
  }
  return bounds;
}

absl::Status ImportSlice(OperatorReader& op) {
  DTNN_ASSIGN_OR_RETURN(const std::vector<SliceBounds> bounds, BoundsOf(op));
  if (!op.IsConstant(0)) return ImportSliceOfImage(op, bounds);
  DTNN_ASSIGN_OR_RETURN(const std::vector<int64_t> from, op.Integers(0));
  if (bounds.size() != 1 || bounds[0].axis != 0 || bounds[0].step != 1) {
    return Unimplemented("slices other than a part of a shape");
  }
  const auto [start, end] = bounds[0].In(int64_t(from.size()));
  op.SetOutput(TensorValues::OfIntegers({from.begin() + start, from.begin() + end}));
  return absl::OkStatus();
}

// Between whole numbers, and to the type that values have here.
absl::Status ImportCast(OperatorReader& op) {
  const auto to = OnnxType(op.Int("to", 0));
  if (!op.IsConstant(0)) {
    if (to == OnnxType::kFloat32) return ImportIdentity(op);
    return Unimplemented("casts values of the network to another type than float");
  }
  DTNN_ASSIGN_OR_RETURN(TensorValues values, op.Constant(0));
  const bool to_real = TensorValues{.type = to}.real();
  if (to_real && !values.real() && values.count() <= kMostNumbers) {
    if (std::ranges::any_of(values.integers, IsOfBatch)) {
      return Unimplemented("computes with the size of the batch, which may be any");
    }
    values.reals.assign(values.integers.begin(), values.integers.end());
    values.integers = {};
  } else if (to_real != values.real()) {
    return Unimplemented("casts real to whole numbers, or more than ", kMostNumbers, " of these");
  }
  if (values.type == to) return ImportIdentity(op);
  values.type = to;
  if (to == OnnxType::kBool) {
    for (int64_t& value : values.integers) value = value == 0 ? 0 : 1;
  }
  op.SetOutput(std::move(values));
  return absl::OkStatus();
}

absl::Status ImportArithmetic(OperatorReader& op) {
  if (!op.IsConstant(0) || !op.IsConstant(1)) {
    return Unimplemented(
        "computes with values of the network; of such operators layers have only sums of values of "
        "one shape, and images times a factor for each channel. Normalisation of the input, "
        "(x - mean) / std of each channel, is read where nothing else reads the input; elsewhere "
        "leave it out, and give import its mean and std");
  }
  if (op.type() == "Mod" && op.Int("fmod", 0) != 0) {
    return Unimplemented("its attribute \"fmod\" is not 0");
  }
  DTNN_ASSIGN_OR_RETURN(const WholeNumbers a, op.Numbers(0));
  DTNN_ASSIGN_OR_RETURN(const WholeNumbers b, op.Numbers(1));
  DTNN_ASSIGN_OR_RETURN(WholeNumbers result, Arithmetic(op.type(), a, b));
  op.SetOutput(std::move(result));
  return absl::OkStatus();
}

absl::Status ImportSub(OperatorReader& op) {
  DTNN_ASSIGN_OR_RETURN(const bool is_first, ImportPreprocessing(op));
  return is_first ? absl::OkStatus() : ImportArithmetic(op);
}

absl::Status ImportSqrt(OperatorReader& op) {
  if (!op.IsConstant(0)) return ImportArithmetic(op);
  DTNN_ASSIGN_OR_RETURN(TensorValues values, op.Constant(0));
  if (!values.real()) return InvalidArgument("its input 0 has whole numbers");
  for (float& value : values.reals) value = std::sqrt(value);
  op.SetOutput(std::move(values));
  return absl::OkStatus();
}

absl::Status ImportReduceProd(OperatorReader& op) {
  DTNN_ASSIGN_OR_RETURN(const std::vector<int64_t> factors, op.Integers(0));
  if (op.HasAttribute("axes")) op.Ints("axes", {});
  int64_t product = 1;
  for (const int64_t factor : factors) {
    DTNN_ASSIGN_OR_RETURN(const WholeNumbers next,
                          Arithmetic("Mul", {TensorValues::OfIntegers({product})},
                                     {TensorValues::OfIntegers({factor})}));
    product = next.first.integers[0];
  }
  TensorValues values = TensorValues::OfIntegers({product});
  if (op.Int("keepdims", 1) == 0) values.dims.clear();
  op.SetOutput(std::move(values));
  return absl::OkStatus();
}

}  // namespace dtnn
