// Element types of tensors. Values and gradients are float32 or float64 (`--dtype`); the integer
// types hold bytes of images and class labels before they become values.

#ifndef DTNN_TENSOR_DTYPE_H_
#define DTNN_TENSOR_DTYPE_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace dtnn {

enum class DType : uint8_t { kFloat32, kFloat64, kUint8, kInt32, kInt64 };

// Bytes of one element.
constexpr size_t SizeOf(DType dtype) {
  switch (dtype) {
    case DType::kUint8:
      return 1;
    case DType::kFloat32:
    case DType::kInt32:
      return 4;
    case DType::kFloat64:
    case DType::kInt64:
      return 8;
  }
  return 0;
}

constexpr bool IsFloating(DType dtype) {
  return dtype == DType::kFloat32 || dtype == DType::kFloat64;
}

// "float32", "float64", "uint8", "int32", "int64": numpy's names, used by flags and files.
std::string_view Name(DType dtype);

template <typename T>
concept ElementType = std::is_same_v<T, float> || std::is_same_v<T, double> ||
    std::is_same_v<T, uint8_t> || std::is_same_v<T, int32_t> || std::is_same_v<T, int64_t>;

// The DType of a C++ type: DTypeOf<float>() is kFloat32.
template <ElementType T>
constexpr DType DTypeOf() {
  if constexpr (std::is_same_v<T, float>) return DType::kFloat32;
  if constexpr (std::is_same_v<T, double>) return DType::kFloat64;
  if constexpr (std::is_same_v<T, uint8_t>) return DType::kUint8;
  if constexpr (std::is_same_v<T, int32_t>) return DType::kInt32;
  if constexpr (std::is_same_v<T, int64_t>) return DType::kInt64;
}

// Calls `f(T{})` with the C++ type of a floating dtype: the one bridge from run-time types to
// templates. Integer dtypes must have been refused before.
template <typename F>
decltype(auto) DispatchFloating(DType dtype, F&& f) {
  if (dtype == DType::kFloat64) return f(double{});
  return f(float{});
}

}  // namespace dtnn

#endif  // DTNN_TENSOR_DTYPE_H_
