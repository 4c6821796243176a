// A request to infer, as the Open Inference Protocol (version 2, by HTTP) writes it: JSON, and
// after it the bytes of those tensors that are binary (the binary tensor data extension).
//
//   {"id": "7", "inputs": [{"name": "input", "shape": [1, 2], "datatype": "FP32",
//                           "data": [0.5, 1]}]}
//
// Requests are not trusted. The JSON is read without a tree and without recursion; numbers, nesting
// and names have limits; a shape must say how many values there are. Numbers of JSON are read as
// double. Members that the protocol does not name, and parameters that are not known here, are
// ignored. Errors are InvalidArgument and name the place: "inputs[0]: data has 3 values, ...".

#ifndef DTNN_MODELS_SERVING_PROTOCOL_INFER_REQUEST_H_
#define DTNN_MODELS_SERVING_PROTOCOL_INFER_REQUEST_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "tensor/shape.h"

namespace dtnn {

struct InferLimits {
  int64_t values = int64_t{1} << 24;  // in the JSON of all inputs
  int tensors = 16;                   // inputs, and as many outputs
};

struct InferInput {
  std::string name = {};
  std::string datatype = {};
  Shape shape = {};
  // The elements, as many as the shape says: one of the two.
  std::vector<double> values = {};
  std::optional<std::string_view> bytes = {};  // little-endian, of the request's text
};

struct InferOutput {
  std::string name = {};
  std::optional<bool> binary = {};
};

struct InferRequest {
  std::optional<std::string> id = {};
  std::vector<InferInput> inputs = {};
  std::vector<InferOutput> outputs = {};  // that are wanted; empty: all
  bool binary_outputs = false;            // of outputs that do not say it themselves
};

// Bytes of an element of that type; nullopt for other words, and for BYTES.
std::optional<size_t> BytesOfDatatype(std::string_view datatype);

// `body`: the JSON, and from byte `json_bytes` on the binary tensors; it must outlive the result.
absl::StatusOr<InferRequest> ParseInferRequest(std::string_view body, size_t json_bytes,
                                               const InferLimits& limits = {});

}  // namespace dtnn

#endif  // DTNN_MODELS_SERVING_PROTOCOL_INFER_REQUEST_H_
