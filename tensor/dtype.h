// Element types of tensors. Values and gradients are float32 or float64 (`--dtype`);
// activations and copies of weights may be bfloat16, on GPUs also float16 (`--math-mode`). The
// integer types hold bytes of images and class labels before they become values.

#ifndef DTNN_TENSOR_DTYPE_H_
#define DTNN_TENSOR_DTYPE_H_

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "tensor/float16.h"

namespace dtnn {

enum class DType : uint8_t {
  kFloat32,
  kFloat64,
  kUint8,
  kInt32,
  kInt64,
  kFloat16,
  kBfloat16,
};

// Bytes of one element.
constexpr size_t SizeOf(DType dtype) {
  switch (dtype) {
    case DType::kUint8:
      return 1;
    case DType::kFloat16:
    case DType::kBfloat16:
      return 2;
    case DType::kFloat32:
    case DType::kInt32:
      return 4;
    case DType::kFloat64:
    case DType::kInt64:
      return 8;
  }
  return 0;
}

// The types that every device computes in, and the host reads as numbers.
constexpr bool IsFloating(DType dtype) {
  return dtype == DType::kFloat32 || dtype == DType::kFloat64;
}
// The types of 16 bits, which are stored, and computed with in float32: on GPUs both, on CPUs
// bfloat16.
constexpr bool IsHalf(DType dtype) { return dtype == DType::kFloat16 || dtype == DType::kBfloat16; }

// Wide<T> (float16.h) as a DType: of sums, parameters and their gradients where activations have
// this type.
constexpr DType WideOf(DType dtype) { return IsHalf(dtype) ? DType::kFloat32 : dtype; }

// "float32", "float64", "uint8", "int32", "int64", "float16", "bfloat16": numpy's names, used by
// flags and files.
std::string_view Name(DType dtype);
// "f32", "f64", "u8", "i32", "i64", "f16", "bf16": in the tokens of specs.
std::string_view ShortName(DType dtype);

template <typename T>
concept ElementType = std::is_same_v<T, float> || std::is_same_v<T, double> ||
    std::is_same_v<T, uint8_t> || std::is_same_v<T, int32_t> || std::is_same_v<T, int64_t> ||
    std::is_same_v<T, Float16> || std::is_same_v<T, Bfloat16>;

// The DType of a C++ type: DTypeOf<float>() is kFloat32.
template <ElementType T>
constexpr DType DTypeOf() {
  if constexpr (std::is_same_v<T, float>) return DType::kFloat32;
  if constexpr (std::is_same_v<T, double>) return DType::kFloat64;
  if constexpr (std::is_same_v<T, uint8_t>) return DType::kUint8;
  if constexpr (std::is_same_v<T, int32_t>) return DType::kInt32;
  if constexpr (std::is_same_v<T, int64_t>) return DType::kInt64;
  if constexpr (std::is_same_v<T, Float16>) return DType::kFloat16;
  if constexpr (std::is_same_v<T, Bfloat16>) return DType::kBfloat16;
}

// Calls `f(T{})` with the C++ type of a floating dtype: the one bridge from run-time types to
// templates. Other dtypes must have been refused before.
template <typename F>
decltype(auto) DispatchFloating(DType dtype, F&& f) {
  assert(IsFloating(dtype));
  if (dtype == DType::kFloat64) return f(double{});
  return f(float{});
}

// The same for what CPUs compute with: the floating types and bfloat16.
template <typename F>
decltype(auto) DispatchCpuFloating(DType dtype, F&& f) {
  if (dtype == DType::kBfloat16) return f(Bfloat16{});
  return DispatchFloating(dtype, f);
}

// The same for what GPUs compute with: the floating types and those of 16 bits.
template <typename F>
decltype(auto) DispatchGpuFloating(DType dtype, F&& f) {
  if (dtype == DType::kFloat16) return f(Float16{});
  if (dtype == DType::kBfloat16) return f(Bfloat16{});
  return DispatchFloating(dtype, f);
}

}  // namespace dtnn

#endif  // DTNN_TENSOR_DTYPE_H_
