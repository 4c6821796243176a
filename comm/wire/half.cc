#include "comm/wire/half.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace dtnn {
namespace {

#if defined(__x86_64__)
bool HasF16c() {
  static const bool has = __builtin_cpu_supports("f16c") && __builtin_cpu_supports("avx");
  return has;
}

// Converts eight at a time; returns how many numbers it took.
__attribute__((target("avx,f16c"))) size_t EightsToFloat16(std::span<const float> numbers,
                                                           uint16_t* halves) {
  size_t i = 0;
  for (; i + 8 <= numbers.size(); i += 8) {
    const __m128i eight = _mm256_cvtps_ph(_mm256_loadu_ps(&numbers[i]), _MM_FROUND_TO_NEAREST_INT);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(halves + i), eight);
  }
  return i;
}

__attribute__((target("avx,f16c"))) size_t EightsFromFloat16(std::span<const uint16_t> halves,
                                                             float* numbers) {
  size_t i = 0;
  for (; i + 8 <= halves.size(); i += 8) {
    const __m128i eight = _mm_loadu_si128(reinterpret_cast<const __m128i*>(&halves[i]));
    _mm256_storeu_ps(numbers + i, _mm256_cvtph_ps(eight));
  }
  return i;
}
#else
bool HasF16c() { return false; }
size_t EightsToFloat16(std::span<const float>, uint16_t*) { return 0; }
size_t EightsFromFloat16(std::span<const uint16_t>, float*) { return 0; }
#endif

// Whether a half may be infinite or NaN, of many at a time.
bool AllFinite(uint16_t exponent, std::span<const uint16_t> halves) {
  unsigned special = 0;
  for (const uint16_t half : halves) special |= (half & exponent) == exponent;
  return special == 0;
}

}  // namespace

// Adding halves of the last kept bit, one less where that bit is even, carries into it whenever
// it must be rounded up, and on into the exponent.
uint16_t ToBfloat16(float x) {
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  if (std::isnan(x)) return uint16_t(bits >> 16 | 0x40);
  return uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

float FromBfloat16(uint16_t bits) { return std::bit_cast<float>(uint32_t{bits} << 16); }

uint16_t ToFloat16(float x) {
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  const uint16_t sign = uint16_t(bits >> 16 & 0x8000);
  const float magnitude = std::abs(x);
  if (std::isnan(x)) return sign | 0x7e00;
  if (magnitude >= 65520.0f) return sign | 0x7c00;  // rounds beyond the largest, 65504
  if (magnitude < 0x1p-14f) {
    // Subnormal: multiples of 2^-24, which float32 rounds to when 2^-24 is its last bit.
    return sign |
           uint16_t(std::bit_cast<uint32_t>(magnitude + 0.5f) - std::bit_cast<uint32_t>(0.5f));
  }
  const uint32_t m = std::bit_cast<uint32_t>(magnitude) - (uint32_t{127 - 15} << 23);
  return sign | uint16_t((m + 0xfff + (m >> 13 & 1)) >> 13);
}

float FromFloat16(uint16_t bits) {
  const uint32_t sign = uint32_t{bits & 0x8000u} << 16;
  const uint32_t rest = bits & 0x7fffu;
  if (rest >= 0x7c00) return std::bit_cast<float>(sign | 0x7f800000 | (rest & 0x3ff) << 13);
  if (rest < 0x400) {
    const float magnitude = float(rest) * 0x1p-24f;
    return sign != 0 ? -magnitude : magnitude;
  }
  return std::bit_cast<float>(sign | ((rest << 13) + (uint32_t{127 - 15} << 23)));
}

bool ToHalves(HalfType type, std::span<const float> numbers, std::span<uint16_t> halves) {
  const bool is_float16 = type == HalfType::kFloat16;
  if (is_float16) {
    size_t i = HasF16c() ? EightsToFloat16(numbers, halves.data()) : 0;
    for (; i < numbers.size(); ++i) halves[i] = ToFloat16(numbers[i]);
  } else {
    for (size_t i = 0; i < numbers.size(); ++i) halves[i] = ToBfloat16(numbers[i]);
  }
  const uint16_t exponent = is_float16 ? 0x7c00 : 0x7f80;
  if (AllFinite(exponent, halves)) return true;
  for (size_t i = 0; i < numbers.size(); ++i) {
    if ((halves[i] & exponent) == exponent && std::isfinite(numbers[i])) return false;
  }
  return true;
}

void FromHalves(HalfType type, std::span<const uint16_t> halves, std::span<float> numbers) {
  if (type == HalfType::kFloat16) {
    size_t i = HasF16c() ? EightsFromFloat16(halves, numbers.data()) : 0;
    for (; i < halves.size(); ++i) numbers[i] = FromFloat16(halves[i]);
  } else {
    for (size_t i = 0; i < halves.size(); ++i) numbers[i] = FromBfloat16(halves[i]);
  }
}

}  // namespace dtnn
