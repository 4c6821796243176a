// 16-bit numbers: float16 (5 bits of exponent, 10 of fraction) and bfloat16 (8 and 7), rounded to
// the nearest, halves to even; what is too large becomes infinity, and NaN stays NaN.

#ifndef DTNN_COMM_WIRE_HALF_H_
#define DTNN_COMM_WIRE_HALF_H_

#include <cstdint>
#include <span>

namespace dtnn {

uint16_t ToFloat16(float x);
float FromFloat16(uint16_t bits);
uint16_t ToBfloat16(float x);
float FromBfloat16(uint16_t bits);

enum class HalfType : uint8_t { kFloat16, kBfloat16 };

// All numbers, as many as there are halves. ToHalves returns whether all that were finite still
// are.
bool ToHalves(HalfType type, std::span<const float> numbers, std::span<uint16_t> halves);
void FromHalves(HalfType type, std::span<const uint16_t> halves, std::span<float> numbers);

}  // namespace dtnn

#endif  // DTNN_COMM_WIRE_HALF_H_
