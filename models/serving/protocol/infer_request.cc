#include "models/serving/protocol/infer_request.h"

#include <algorithm>
#include <utility>

#include "models/serving/protocol/request_reader.h"
#include "nlohmann/json.hpp"
#include "tensor/errors.h"

namespace dtnn {
namespace {

struct Datatype {
  std::string_view name;
  size_t bytes;
};
constexpr Datatype kDatatypes[] = {{"BOOL", 1},   {"UINT8", 1}, {"UINT16", 2}, {"UINT32", 4},
                                   {"UINT64", 8}, {"INT8", 1},  {"INT16", 2},  {"INT32", 4},
                                   {"INT64", 8},  {"FP16", 2},  {"FP32", 4},   {"FP64", 8},
                                   {"BF16", 2}};

// Takes its bytes from the start of `rest`.
absl::Status Finish(RawInput& raw, std::string_view& rest) {
  InferInput& input = raw.input;
  if (input.name.empty()) return InvalidArgument("has no name");
  const std::optional<size_t> bytes = BytesOfDatatype(input.datatype);
  if (!bytes) {
    return InvalidArgument("datatype ", Quoted(input.datatype),
                           "; expected one of the protocol's, such as FP32 or UINT8");
  }
  if (!raw.shape) return InvalidArgument("has no shape");
  DTNN_ASSIGN_OR_RETURN(input.shape, Shape::Make(*raw.shape));
  const int64_t elements = input.shape.NumElements();
  if (raw.has_data == raw.binary_bytes.has_value()) {
    return InvalidArgument(raw.has_data ? "has data and binary_data_size; expected one of them"
                                        : "has no data");
  }
  if (raw.has_data) {
    if (int64_t(input.values.size()) != elements) {
      return InvalidArgument("data has ", input.values.size(), " values, but shape ",
                             input.shape.ToString(), " has ", elements);
    }
    const bool flat = raw.nesting.size() == 1;
    if (!flat && !std::ranges::equal(raw.nesting, *raw.shape)) {
      return InvalidArgument("the nesting of data differs from shape ", input.shape.ToString());
    }
    return absl::OkStatus();
  }
  const uint64_t size = uint64_t(*raw.binary_bytes);
  if (size % *bytes != 0 || size / *bytes != uint64_t(elements)) {
    return InvalidArgument("binary_data_size is ", size, ", but ", input.datatype, " of shape ",
                           input.shape.ToString(), " has ", elements, " elements of ", *bytes,
                           " bytes");
  }
  if (size > rest.size()) {
    return InvalidArgument("binary_data_size is ", size, ", but ", rest.size(),
                           " bytes follow the JSON and the inputs before");
  }
  input.bytes = rest.substr(0, size);
  rest.remove_prefix(size);
  return absl::OkStatus();
}

}  // namespace

std::optional<size_t> BytesOfDatatype(std::string_view datatype) {
  const auto* const found = std::ranges::find(kDatatypes, datatype, &Datatype::name);
  if (found == std::end(kDatatypes)) return std::nullopt;
  return found->bytes;
}

absl::StatusOr<InferRequest> ParseInferRequest(std::string_view body, size_t json_bytes,
                                               const InferLimits& limits) {
  if (json_bytes > body.size()) {
    return InvalidArgument("the JSON should have ", json_bytes, " bytes, but the body has ",
                           body.size());
  }
  RequestReader reader(limits);
  const std::string_view json = body.substr(0, json_bytes);
  if (!nlohmann::json::sax_parse(json.begin(), json.end(), &reader)) {
    return absl::InvalidArgumentError(reader.error);
  }
  if (reader.inputs.empty()) return absl::InvalidArgumentError("the request has no inputs");
  std::string_view rest = body.substr(json_bytes);
  for (size_t i = 0; i < reader.inputs.size(); ++i) {
    DTNN_RETURN_IF_ERROR(WithContext(Finish(reader.inputs[i], rest), "inputs[", i, "]"));
    reader.request.inputs.push_back(std::move(reader.inputs[i].input));
  }
  if (!rest.empty()) {
    return InvalidArgument(rest.size(), " bytes follow the last input");
  }
  return std::move(reader.request);
}

}  // namespace dtnn
