#include "models/serving/protocol/input_samples.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include "data/images/image.h"
#include "data/images/image_bytes.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

// As the protocol's bytes are.
static_assert(std::endian::native == std::endian::little);

// No side of an image is longer (data/images/image.h).
constexpr int64_t kMostSide = 65536;

template <typename T>
absl::Status CopyValues(const InferInput& input, T* to) {
  if (input.bytes) {
    std::memcpy(to, input.bytes->data(), input.bytes->size());
    return absl::OkStatus();
  }
  for (size_t i = 0; i < input.values.size(); ++i) {
    to[i] = T(input.values[i]);
    if (!std::isfinite(to[i])) {
      return InvalidArgument("data[", i, "] is ", input.values[i], ", which ", input.datatype,
                             " cannot hold");
    }
  }
  return absl::OkStatus();
}

absl::Status CopyBytes(const InferInput& input, std::vector<uint8_t>& to) {
  if (input.bytes) {
    to.assign(input.bytes->begin(), input.bytes->end());
    return absl::OkStatus();
  }
  for (const double value : input.values) {
    if (value < 0 || value > 255 || value != std::floor(value)) {
      return InvalidArgument("data[", to.size(), "] is ", value,
                             "; UINT8 takes whole numbers from 0 to 255");
    }
    to.push_back(uint8_t(value));
  }
  return absl::OkStatus();
}

std::string ShapeWith(std::string_view first, const Shape& sample) {
  std::string text = StrCat("(", first);
  for (const int64_t extent : sample.extents()) text += StrCat(", ", extent);
  return text + ")";
}

absl::Status CheckSamples(int64_t samples, const SampleRules& rules) {
  if (samples >= 1 && samples <= rules.max_samples) return absl::OkStatus();
  return InvalidArgument("has ", samples, " samples; expected 1 to ", rules.max_samples,
                         " in a request");
}

absl::StatusOr<Tensor> Values(const InferInput& input, const SampleRules& rules) {
  const Shape& shape = input.shape;
  if (shape.rank() != rules.sample.rank() + 1 || shape.DropFirst() != rules.sample) {
    return InvalidArgument("has shape ", shape.ToString(), "; the model takes ",
                           ShapeWith("n", rules.sample));
  }
  DTNN_RETURN_IF_ERROR(CheckSamples(shape[0], rules));
  DTNN_ASSIGN_OR_RETURN(Tensor x, Tensor::Allocate(Device::Cpu(), rules.dtype, shape));
  DTNN_RETURN_IF_ERROR(DispatchFloating(
      rules.dtype, [&](auto zero) { return CopyValues(input, x.data<decltype(zero)>()); }));
  return x;
}

absl::StatusOr<Tensor> Images(const InferInput& input, const SampleRules& rules) {
  const ImageExtents wanted = ExtentsOf(rules.sample, rules.format);
  const Shape& shape = input.shape;
  const ImageExtents given =
      shape.rank() == 4 ? ExtentsOf(shape.DropFirst(), rules.format) : ImageExtents{};
  if (shape.rank() != 4 || given.channels != wanted.channels || given.height < 1 ||
      given.width < 1 || given.height > kMostSide || given.width > kMostSide) {
    return InvalidArgument("has shape ", shape.ToString(), "; as UINT8 the model takes images, ",
                           rules.format == TensorFormat::kNHWC
                               ? StrCat("(n, height, width, ", wanted.channels, ")")
                               : StrCat("(n, ", wanted.channels, ", height, width)"),
                           " with sides of 1 to ", kMostSide);
  }
  DTNN_RETURN_IF_ERROR(CheckSamples(shape[0], rules));
  DTNN_ASSIGN_OR_RETURN(
      Tensor x, Tensor::Allocate(Device::Cpu(), rules.dtype, rules.sample.Prepend(shape[0])));
  std::vector<uint8_t> bytes;
  DTNN_RETURN_IF_ERROR(CopyBytes(input, bytes));
  const size_t size = size_t(ByteCount(given));
  const size_t area = size_t(given.height * given.width), channels = size_t(given.channels);
  Image image = {.extents = given, .pixels = std::vector<uint8_t>(size)};
  for (int64_t row = 0; row < shape[0]; ++row) {
    const uint8_t* const from = bytes.data() + size_t(row) * size;
    if (rules.format == TensorFormat::kNHWC) {
      image.pixels.assign(from, from + size);
    } else {
      for (size_t i = 0; i < size; ++i) image.pixels[i] = from[i % channels * area + i / channels];
    }
    DTNN_RETURN_IF_ERROR(rules.images->Convert(image, x, row));
  }
  return x;
}

}  // namespace

std::string ShapeJson(std::span<const int64_t> extents) {
  std::string text = "[";
  for (const int64_t extent : extents) text += StrCat(text.size() > 1 ? ", " : "", extent);
  return text + "]";
}

std::string_view DatatypeOf(DType dtype) { return dtype == DType::kFloat64 ? "FP64" : "FP32"; }

absl::StatusOr<Tensor> SamplesOf(const InferRequest& request, const SampleRules& rules) {
  if (request.inputs.size() != 1) {
    return InvalidArgument("the request has ", request.inputs.size(),
                           " inputs; the model has one, \"", kInputName, "\"");
  }
  const InferInput& input = request.inputs[0];
  if (input.name != kInputName) {
    return InvalidArgument("inputs[0]: name ", Quoted(input.name), "; the model's input is \"",
                           kInputName, "\"");
  }
  const bool images = input.datatype == "UINT8" && rules.images != nullptr;
  if (!images && input.datatype != DatatypeOf(rules.dtype)) {
    return InvalidArgument("inputs[0]: datatype ", input.datatype, "; the model takes ",
                           DatatypeOf(rules.dtype), rules.images != nullptr ? " or UINT8" : "");
  }
  return WithContext(images ? Images(input, rules) : Values(input, rules), "inputs[0]");
}

}  // namespace dtnn
