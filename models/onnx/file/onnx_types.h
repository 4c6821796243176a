// Numbers that stand for types in ONNX.

#ifndef DTNN_MODELS_ONNX_FILE_ONNX_TYPES_H_
#define DTNN_MODELS_ONNX_FILE_ONNX_TYPES_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace dtnn {

// TensorProto::data_type.
enum class OnnxType : int32_t {
  kNone = 0,
  kFloat32 = 1,
  kUint8 = 2,
  kInt8 = 3,
  kInt32 = 6,
  kInt64 = 7,
  kBool = 9,
  kFloat16 = 10,
  kFloat64 = 11,
  kBfloat16 = 16,
};

// "float16"; all types of ONNX, also those that are not read. "12345, which ONNX does not define"
// for another number.
std::string Name(OnnxType type);

// AttributeProto::type.
enum class OnnxAttribute : int32_t { kFloat = 1, kInt = 2, kText = 3, kTensor = 4, kInts = 7 };

// How ExportModel ends the names of its QuantizeLinear and DequantizeLinear nodes. Other programs
// that quantize one of its files keep the metadata, but name their nodes otherwise.
inline constexpr std::string_view kQuantizeNode = "/Quantize", kDequantizeNode = "/Dequantize";

}  // namespace dtnn

#endif  // DTNN_MODELS_ONNX_FILE_ONNX_TYPES_H_
