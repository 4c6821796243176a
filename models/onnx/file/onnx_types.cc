#include "models/onnx/file/onnx_types.h"

#include <cstddef>
#include <iterator>

#include "tensor/text/str_cat.h"

namespace dtnn {

std::string Name(OnnxType type) {
  // TensorProto.DataType, in the order of its numbers.
  static constexpr std::string_view kNames[] = {
      "undefined",      "float",    "uint8",        "int8",           "uint16",
      "int16",          "int32",    "int64",        "string",         "bool",
      "float16",        "double",   "uint32",       "uint64",         "complex64",
      "complex128",     "bfloat16", "float8e4m3fn", "float8e4m3fnuz", "float8e5m2",
      "float8e5m2fnuz", "uint4",    "int4",         "float4e2m1",     "float8e8m0",
      "uint2",          "int2"};
  const auto number = int32_t(type);
  if (number < 0 || size_t(number) >= std::size(kNames)) {
    return StrCat(number, ", which ONNX does not define");
  }
  return std::string(kNames[number]);
}

}  // namespace dtnn
