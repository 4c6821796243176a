// Values in 8 bits, as pairs of QuantizeLinear and DequantizeLinear have them.

#include <algorithm>
#include <cmath>
#include <utility>

#include "layers/activation.h"
#include "models/onnx/file/onnx_types.h"
#include "models/onnx/import/operators.h"
#include "models/plan/int8_types.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

struct Bytes {
  std::vector<float> scale;
  std::vector<int64_t> zero = {};  // as many, or none: 0
  OnnxType type;
};

absl::StatusOr<Bytes> BytesOf(OperatorReader& op, OnnxType without_zero = OnnxType::kUint8) {
  DTNN_ASSIGN_OR_RETURN(TensorValues scale, op.Constant(1));
  if (!scale.real() || scale.count() < 1) return InvalidArgument("its scale is not a number");
  Bytes bytes = {.scale = std::move(scale.reals), .type = without_zero};
  if (op.Has(2)) {
    DTNN_ASSIGN_OR_RETURN(TensorValues zero, op.Constant(2));
    bytes.type = zero.type;
    bytes.zero = std::move(zero.integers);
    if (bytes.zero.size() != bytes.scale.size()) {
      return InvalidArgument("has ", bytes.scale.size(), " scales and ", bytes.zero.size(),
                             " zero points");
    }
  }
  const bool valid = std::ranges::all_of(
      bytes.scale, [](float value) { return std::isfinite(value) && value > 0; });
  if (!valid) return InvalidArgument("has a scale that is not positive and finite");
  if (op.Int("block_size", 0) != 0) return Unimplemented("has scales for blocks of weights");
  return bytes;
}

// The network's input, or its features.
bool IsInput(OperatorReader& op, const ImportedValue& value) {
  const NetworkMaker& network = op.network();
  return value.node == 0 || (network.LayerOf(value).type_name() == "Flatten" &&
                             network.NameOfInput(value) == network.NameOf({.node = 0}));
}

// A pair of our own export, where each relu is a node.
bool IsOfOurExport(const OperatorReader& op) {
  return op.OfOurOwn() &&
         (op.name().ends_with(kQuantizeNode) || op.name().ends_with(kDequantizeNode));
}

// Rounding to 8 bits cuts off what is below the smallest byte. Where that is 0, it is the relu that
// quantisers leave out; but that of the input says only that samples, as pixels, are from 0 on.
absl::Status AddRelu(OperatorReader& op, const ValueRange& range, ImportedValue& value) {
  constexpr double kNearSix = 0.03;
  if (IsOfOurExport(op) || range.low < 0 || op.network().IsNeverNegative(value) ||
      IsInput(op, value)) {
    return absl::OkStatus();
  }
  const ActivationKind kind =
      std::abs(range.high - 6) < kNearSix ? ActivationKind::kRelu6 : ActivationKind::kRelu;
  DTNN_RETURN_IF_ERROR(
      AddElementwise(op, std::make_shared<ActivationLayer>(kind), std::span(&value, 1)));
  DTNN_ASSIGN_OR_RETURN(value, op.Output());
  return absl::OkStatus();
}

// The network computes the value; its range is kept for inference in 8 bits.
absl::Status KeepRange(OperatorReader& op, OnnxType without_zero) {
  DTNN_ASSIGN_OR_RETURN(const Bytes bytes, BytesOf(op, without_zero));
  op.Int("axis", 1);
  op.Int("saturate", 1);
  DTNN_ASSIGN_OR_RETURN(ImportedValue value, op.Value(0));
  if (bytes.type == OnnxType::kNone && bytes.scale.size() == 1) {
    op.SetOutput(value);  // the range is that of the QuantizeLinear
    return absl::OkStatus();
  }
  if (bytes.scale.size() != 1 ||
      (bytes.type != OnnxType::kUint8 && bytes.type != OnnxType::kInt8)) {
    return Unimplemented("rounds a value of the network to other than 8 bits with one scale");
  }
  const double zero = bytes.zero.empty() ? 0 : double(bytes.zero[0]);
  const double low = bytes.type == OnnxType::kInt8 ? -128 : 0;
  const double scale = double(bytes.scale[0]);
  const ValueRange range = {.low = scale * (low - zero), .high = scale * (low + 255 - zero)};
  DTNN_RETURN_IF_ERROR(AddRelu(op, range, value));
  op.SetRange(value, range, IsOfOurExport(op));
  op.SetOutput(value);
  return absl::OkStatus();
}

}  // namespace

absl::Status ImportQuantizeLinear(OperatorReader& op) {
  const int64_t type = op.Int("output_dtype", 0);
  if (!op.IsConstant(0)) return KeepRange(op, type == 0 ? OnnxType::kUint8 : OnnxType(type));
  return Unimplemented("rounds a constant when the network runs; export it with constants folded");
}

absl::Status ImportDequantizeLinear(OperatorReader& op) {
  op.Int("output_dtype", 0);
  if (!op.IsConstant(0)) return KeepRange(op, OnnxType::kNone);
  DTNN_ASSIGN_OR_RETURN(TensorValues values, op.Constant(0));
  DTNN_ASSIGN_OR_RETURN(const Bytes bytes, BytesOf(op));
  if ((values.type != OnnxType::kInt8 && values.type != OnnxType::kUint8 &&
       values.type != OnnxType::kInt32) ||
      (op.Has(2) && bytes.type != values.type)) {
    return InvalidArgument("its constant and zero point are not both int8, uint8 or int32");
  }
  size_t inner = 1;
  const auto rank = int64_t(values.dims.size());
  if (bytes.scale.size() > 1) {
    DTNN_ASSIGN_OR_RETURN(const int64_t axis, AxisOf(op.Int("axis", 1), rank));
    if (values.dims[size_t(axis)] != int64_t(bytes.scale.size())) {
      return InvalidArgument("has ", bytes.scale.size(), " scales for ", values.dims[size_t(axis)],
                             " places along axis ", axis);
    }
    for (int64_t i = axis + 1; i < rank; ++i) inner *= size_t(values.dims[size_t(i)]);
  } else {
    op.Int("axis", 1);
  }
  values.reals.resize(values.integers.size());
  for (size_t i = 0; i < values.integers.size(); ++i) {
    const size_t place = i / inner % bytes.scale.size();
    const int64_t zero = bytes.zero.empty() ? 0 : bytes.zero[place];
    values.reals[i] = float(values.integers[i] - zero) * bytes.scale[place];
  }
  values.from_bytes = values.type == OnnxType::kInt8 || values.type == OnnxType::kUint8;
  values.integers.clear();
  values.type = OnnxType::kFloat32;
  op.SetOutput(std::move(values));
  return absl::OkStatus();
}

}  // namespace dtnn
