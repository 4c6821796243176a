// Operators on constants, which are computed when the model is imported: the arithmetic of shapes
// that exports have before a Reshape. The batch, whose size is not known, is handed on as it is.

#include <algorithm>
#include <utility>

#include "models/onnx/import/operators.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

constexpr int64_t kMost = int64_t{1} << 40;  // of a number in a shape

absl::StatusOr<int64_t> Compute(std::string_view type, int64_t a, int64_t b) {
  if (a == kBatchExtent || b == kBatchExtent) {
    return Unimplemented("computes with the size of the batch, which may be any");
  }
  if (std::max(std::abs(a), std::abs(b)) > kMost) return InvalidArgument("has numbers above 2^40");
  if (type == "Add") return a + b;
  if (type == "Sub") return a - b;
  if (type == "Div" && b != 0) return a / b;
  if (type == "Mul" && (b == 0 || std::abs(a) <= kMost / std::abs(b))) return a * b;
  return InvalidArgument("of ", a, " and ", b, " is not a number up to 2^40");
}

}  // namespace

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
  if (op.HasAttribute("axes")) op.Ints("axes", {});
  DTNN_ASSIGN_OR_RETURN(TensorValues values, op.Constant(0));
  if (values.count() != 1) return Unimplemented("unsqueezes more than one number of a shape");
  values.dims = {1};
  op.SetOutput(std::move(values));
  return absl::OkStatus();
}

std::pair<int64_t, int64_t> SliceBounds::In(int64_t extent) const {
  const auto bound = [&](int64_t given) {
    return std::clamp<int64_t>(given < 0 ? std::max(given, -extent) + extent : given, 0, extent);
  };
  const int64_t begin = bound(start);
  return {begin, std::max(begin, bound(end))};
}

absl::StatusOr<SliceBounds> BoundsOf(OperatorReader& op) {
  std::vector<int64_t> starts, ends, axes = {0}, steps = {1};
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
    axes = op.Ints("axes", {0});
  }
  if (starts.size() != 1 || ends.size() != 1 || axes.size() != 1 ||
      steps != std::vector<int64_t>{1}) {
    return Unimplemented("slices several axes, or not in steps of 1");
  }
  return SliceBounds{axes[0], starts[0], ends[0]};
}

absl::Status ImportSlice(OperatorReader& op) {
  DTNN_ASSIGN_OR_RETURN(const SliceBounds bounds, BoundsOf(op));
  if (!op.IsConstant(0)) return ImportSliceOfChannels(op, bounds);
  DTNN_ASSIGN_OR_RETURN(const std::vector<int64_t> from, op.Integers(0));
  if (bounds.axis != 0) return Unimplemented("slices other than a part of a shape");
  const auto [start, end] = bounds.In(int64_t(from.size()));
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
  if (TensorValues{.type = to}.real() != values.real()) {
    return Unimplemented("casts between real and whole numbers");
  }
  if (values.type == to) return ImportIdentity(op);
  values.type = to;
  op.SetOutput(std::move(values));
  return absl::OkStatus();
}

absl::Status ImportArithmetic(OperatorReader& op) {
  if (!op.IsConstant(0) || !op.IsConstant(1)) {
    return Unimplemented(
        "computes with values of the network; of such operators layers have only sums of values of "
        "one shape, and images times a factor for each channel. Normalisation of the input belongs "
        "into the "
        "preprocessing");
  }
  DTNN_ASSIGN_OR_RETURN(TensorValues a, op.Constant(0));
  DTNN_ASSIGN_OR_RETURN(TensorValues b, op.Constant(1));
  if (a.real() || b.real()) return Unimplemented("computes with constants that are not a shape");
  if (a.count() < b.count()) {
    if (a.count() != 1) return InvalidArgument("has inputs of different sizes");
    a.integers.assign(size_t(b.count()), a.integers[0]);
    a.dims = b.dims;
  }
  if (b.count() != 1 && b.count() != a.count()) {
    return InvalidArgument("has inputs of different sizes");
  }
  for (size_t i = 0; i < a.integers.size(); ++i) {
    DTNN_ASSIGN_OR_RETURN(a.integers[i],
                          Compute(op.type(), a.integers[i], b.integers[b.count() == 1 ? 0 : i]));
  }
  op.SetOutput(std::move(a));
  return absl::OkStatus();
}

absl::Status ImportReduceProd(OperatorReader& op) {
  DTNN_ASSIGN_OR_RETURN(const std::vector<int64_t> factors, op.Integers(0));
  if (op.HasAttribute("axes")) op.Ints("axes", {});
  int64_t product = 1;
  for (const int64_t factor : factors) {
    DTNN_ASSIGN_OR_RETURN(product, Compute("Mul", product, factor));
  }
  TensorValues values = TensorValues::OfIntegers({product});
  if (op.Int("keepdims", 1) == 0) values.dims.clear();
  op.SetOutput(std::move(values));
  return absl::OkStatus();
}

}  // namespace dtnn
