// The values of an ONNX tensor, from whichever of its forms.

#ifndef DTNN_MODELS_ONNX_FILE_TENSOR_VALUES_H_
#define DTNN_MODELS_ONNX_FILE_TENSOR_VALUES_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "models/onnx/file/external_data.h"
#include "models/onnx/file/onnx.pb.h"
#include "models/onnx/file/onnx_types.h"

namespace dtnn {

struct TensorValues {
  OnnxType type = OnnxType::kInt64;
  std::vector<int64_t> dims = {};      // none: a scalar
  std::vector<float> reals = {};       // of floating types
  std::vector<int64_t> integers = {};  // of the others
  bool from_bytes = false;             // real numbers that the file has in 8 bits

  bool real() const {
    return type == OnnxType::kFloat32 || type == OnnxType::kFloat64 || type == OnnxType::kFloat16 ||
           type == OnnxType::kBfloat16;
  }
  int64_t count() const { return real() ? int64_t(reals.size()) : int64_t(integers.size()); }
  int64_t MemoryBytes() const {
    return int64_t(reals.size() * sizeof(float) + integers.size() * sizeof(int64_t));
  }
  // "(64, 3, 7, 7)".
  std::string ShapeText() const;

  static TensorValues OfIntegers(std::vector<int64_t> values) {
    const auto count = int64_t(values.size());
    return {.dims = {count}, .integers = std::move(values)};
  }
};

// The product of extents, in 64 bits; InvalidArgument for a negative one, and for more than 2^40
// elements.
absl::StatusOr<int64_t> CountElements(std::span<const int64_t> dims);

// InvalidArgument for a type that networks do not have, and for data of another size than the
// shape's, before memory is allocated. Messages begin with what is wrong: "has ...".
absl::StatusOr<TensorValues> ReadTensor(const onnx::TensorProto& tensor, ExternalData& external);

}  // namespace dtnn

#endif  // DTNN_MODELS_ONNX_FILE_TENSOR_VALUES_H_
