#include "models/onnx/file/tensor_values.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <span>
#include <string_view>

#include "absl/strings/str_join.h"
#include "tensor/errors.h"
#include "tensor/float16.h"

namespace dtnn {
namespace {

constexpr int64_t kMostElements = int64_t{1} << 40;
constexpr size_t kMostAxes = 16;

// 0: a type that is not read.
int64_t BytesOf(OnnxType type) {
  switch (type) {
    case OnnxType::kUint8:
    case OnnxType::kInt8:
    case OnnxType::kBool:
      return 1;
    case OnnxType::kFloat16:
    case OnnxType::kBfloat16:
      return 2;
    case OnnxType::kFloat32:
    case OnnxType::kInt32:
      return 4;
    case OnnxType::kInt64:
    case OnnxType::kFloat64:
      return 8;
    case OnnxType::kNone:
      break;
  }
  return 0;
}

// Elements of type From, converted by `convert`.
template <typename From, typename To, typename Convert>
void Append(std::string_view bytes, std::vector<To>& to, Convert convert) {
  to.resize(bytes.size() / sizeof(From));
  for (size_t i = 0; i < to.size(); ++i) {
    From from;
    std::memcpy(&from, bytes.data() + i * sizeof(From), sizeof(From));
    to[i] = convert(from);
  }
}

void ReadRaw(std::string_view bytes, TensorValues& values) {
  const auto integer = [](auto from) { return int64_t(from); };
  const auto real = [](auto from) { return float(from); };
  const auto half = [](uint16_t bits) { return float(std::bit_cast<Float16>(bits)); };
  const auto upper_half = [](uint16_t bits) { return float(std::bit_cast<Bfloat16>(bits)); };
  switch (values.type) {
    case OnnxType::kUint8:
    case OnnxType::kBool:
      return Append<uint8_t>(bytes, values.integers, integer);
    case OnnxType::kInt8:
      return Append<int8_t>(bytes, values.integers, integer);
    case OnnxType::kInt32:
      return Append<int32_t>(bytes, values.integers, integer);
    case OnnxType::kInt64:
      return Append<int64_t>(bytes, values.integers, integer);
    case OnnxType::kFloat16:
      return Append<uint16_t>(bytes, values.reals, half);
    case OnnxType::kBfloat16:
      return Append<uint16_t>(bytes, values.reals, upper_half);
    case OnnxType::kFloat32:
      return Append<float>(bytes, values.reals, real);
    case OnnxType::kFloat64:
      return Append<double>(bytes, values.reals, real);
    case OnnxType::kNone:
      break;
  }
}

// The repeated field that has values of the type: int32_data those of less than 32 bits too.
int64_t ElementsInFields(const onnx::TensorProto& tensor, OnnxType type) {
  switch (type) {
    case OnnxType::kFloat32:
      return tensor.float_data_size();
    case OnnxType::kFloat64:
      return tensor.double_data_size();
    case OnnxType::kInt64:
      return tensor.int64_data_size();
    default:
      return tensor.int32_data_size();
  }
}

void ReadFields(const onnx::TensorProto& tensor, TensorValues& values) {
  switch (values.type) {
    case OnnxType::kFloat32:
      values.reals = {tensor.float_data().begin(), tensor.float_data().end()};
      break;
    case OnnxType::kFloat64:
      values.reals = {tensor.double_data().begin(), tensor.double_data().end()};
      break;
    case OnnxType::kInt64:
      values.integers = {tensor.int64_data().begin(), tensor.int64_data().end()};
      break;
    case OnnxType::kFloat16:
      for (const int32_t bits : tensor.int32_data()) {
        values.reals.push_back(float(std::bit_cast<Float16>(uint16_t(bits))));
      }
      break;
    case OnnxType::kBfloat16:
      for (const int32_t bits : tensor.int32_data()) {
        values.reals.push_back(float(std::bit_cast<Bfloat16>(uint16_t(bits))));
      }
      break;
    default:
      values.integers = {tensor.int32_data().begin(), tensor.int32_data().end()};
  }
}

}  // namespace

std::string TensorValues::ShapeText() const {
  const std::span shown = std::span(dims).first(std::min(dims.size(), kMostAxes));
  return StrCat("(", absl::StrJoin(shown, ", "), shown.size() < dims.size() ? ", ...)" : ")");
}

absl::StatusOr<int64_t> CountElements(std::span<const int64_t> dims) {
  int64_t count = 1;
  for (const int64_t extent : dims) {
    if (extent < 0 || extent > kMostElements) {
      return InvalidArgument("has an axis of ", extent, " elements");
    }
    if (extent > 0 && count > kMostElements / extent) {
      return InvalidArgument("has more than 2^40 elements");
    }
    count *= extent;
  }
  return count;
}

absl::StatusOr<TensorValues> ReadTensor(const onnx::TensorProto& tensor, ExternalData& external) {
  if (size_t(tensor.dims_size()) > kMostAxes) {
    return InvalidArgument("has ", tensor.dims_size(), " axes, more than ", kMostAxes);
  }
  TensorValues values = {.type = OnnxType(tensor.data_type()),
                         .dims = {tensor.dims().begin(), tensor.dims().end()}};
  const int64_t bytes_each = BytesOf(values.type);
  if (bytes_each == 0) {
    return InvalidArgument("has elements of type ", Name(values.type),
                           "; float, float16, bfloat16, double, int8, uint8, int32, int64 and bool "
                           "are read");
  }
  DTNN_ASSIGN_OR_RETURN(const int64_t count, CountElements(values.dims));
  if (tensor.data_location() != 0) {
    DTNN_ASSIGN_OR_RETURN(const std::string bytes, external.Read(tensor, count * bytes_each));
    ReadRaw(bytes, values);
    return values;
  }
  const std::string_view raw = tensor.raw_data();
  const int64_t fields = ElementsInFields(tensor, values.type);
  const bool has_raw = !raw.empty() || fields == 0;
  const int64_t held = has_raw ? int64_t(raw.size()) : fields * bytes_each;
  if (held != count * bytes_each) {
    return InvalidArgument("has ", held, " bytes of data; its shape ", values.ShapeText(),
                           " needs ", count * bytes_each);
  }
  has_raw ? ReadRaw(raw, values) : ReadFields(tensor, values);
  return values;
}

}  // namespace dtnn
