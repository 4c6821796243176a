// Floating types of 16 bits, as tensors store them: Float16, IEEE 754's binary16 (11 significant
// bits, up to 65504), and Bfloat16, the upper half of a float32 (8 significant bits, its range).
//
// They can be stored and converted, and nothing else: code that computes widens to float first, and
// says where it rounds back. Rounding is to the nearest, ties to even; what is too large becomes
// infinite, and a NaN stays one. On a GPU its own conversions are used, which give the same bits,
// but for those of a NaN.

#ifndef DTNN_TENSOR_FLOAT16_H_
#define DTNN_TENSOR_FLOAT16_H_

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "tensor/host_device.h"

#ifdef __CUDACC__
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#endif

namespace dtnn {
namespace float16_internal {

// std::bit_cast, where device code may call it.
template <typename To, typename From>
DTNN_HOST_DEVICE inline To BitsAs(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof(to));
  return to;
}

// `bits` without the last `count` of them, rounded to the nearest, ties to even.
DTNN_HOST_DEVICE inline uint32_t RoundShift(uint32_t bits, int count) {
  const uint32_t half = uint32_t{1} << (count - 1), odd = (bits >> count) & 1;
  return (bits + (half - 1) + odd) >> count;
}

DTNN_HOST_DEVICE inline uint16_t ToBinary16(float value) {
#ifdef __CUDA_ARCH__
  return __half_as_ushort(__float2half_rn(value));
#else
  const uint32_t bits = BitsAs<uint32_t>(value), magnitude = bits & 0x7fffffffu;
  const uint32_t sign = (bits >> 16) & 0x8000u;
  if (magnitude > 0x7f800000u) return uint16_t(sign | 0x7e00u);
  if (magnitude >= 0x47800000u) return uint16_t(sign | 0x7c00u);  // 65536 and more
  // Normal: the exponent counts from another beginning; a carry of the rounding runs into it.
  if (magnitude >= 0x38800000u) return uint16_t(sign | RoundShift(magnitude - 0x38000000u, 13));
  if (magnitude < 0x33000000u) return uint16_t(sign);  // less than half of the smallest
  const uint32_t mantissa = (magnitude & 0x7fffffu) | 0x800000u;
  return uint16_t(sign | RoundShift(mantissa, int(126 - (magnitude >> 23))));
#endif
}

DTNN_HOST_DEVICE inline float FromBinary16(uint16_t bits) {
#ifdef __CUDA_ARCH__
  return __half2float(__ushort_as_half(bits));
#else
  const uint32_t sign = uint32_t{bits & 0x8000u} << 16, magnitude = bits & 0x7fffu;
  if (magnitude >= 0x7c00u) return BitsAs<float>(sign | 0x7f800000u | (magnitude & 0x3ffu) << 13);
  if (magnitude >= 0x0400u) return BitsAs<float>(sign | ((magnitude << 13) + 0x38000000u));
  return BitsAs<float>(sign | BitsAs<uint32_t>(float(magnitude) * 0x1p-24f));
#endif
}

DTNN_HOST_DEVICE inline uint16_t ToUpperHalf(float value) {
#ifdef __CUDA_ARCH__
  return __bfloat16_as_ushort(__float2bfloat16_rn(value));
#else
  const uint32_t bits = BitsAs<uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return uint16_t(bits >> 16 | 0x40u);
  return uint16_t(RoundShift(bits, 16));
#endif
}

DTNN_HOST_DEVICE inline float FromUpperHalf(uint16_t bits) {
  return BitsAs<float>(uint32_t{bits} << 16);
}

}  // namespace float16_internal

struct Float16 {
  uint16_t bits;

  Float16() = default;
  template <typename T>
  requires std::is_arithmetic_v<T> DTNN_HOST_DEVICE explicit Float16(T value)
      : bits(float16_internal::ToBinary16(float(value))) {}
  DTNN_HOST_DEVICE explicit operator float() const { return float16_internal::FromBinary16(bits); }
  DTNN_HOST_DEVICE explicit operator double() const { return double(float(*this)); }
};

struct Bfloat16 {
  uint16_t bits;

  Bfloat16() = default;
  template <typename T>
  requires std::is_arithmetic_v<T> DTNN_HOST_DEVICE explicit Bfloat16(T value)
      : bits(float16_internal::ToUpperHalf(float(value))) {}
  DTNN_HOST_DEVICE explicit operator float() const { return float16_internal::FromUpperHalf(bits); }
  DTNN_HOST_DEVICE explicit operator double() const { return double(float(*this)); }
};

// The type to compute in with elements of type T: float for those of 16 bits, else T.
template <typename T>
using Wide =
    std::conditional_t<std::is_same_v<T, Float16> || std::is_same_v<T, Bfloat16>, float, T>;

// The nearest number with 11 significant bits and float32's range, as the tensor cores of a GPU
// read operands in TF32; ties to even.
DTNN_HOST_DEVICE inline float RoundToTf32(float value) {
  using namespace float16_internal;
  const uint32_t bits = BitsAs<uint32_t>(value);
  if ((bits & 0x7f800000u) == 0x7f800000u) return value;
  return BitsAs<float>(RoundShift(bits, 13) << 13);
}

}  // namespace dtnn

#endif  // DTNN_TENSOR_FLOAT16_H_
