// Arithmetic of float32 in which denormal numbers are zero, as products of bfloat16 have it: for
// their emulation.

#ifndef DTNN_KERNELS_AMX_FLUSH_H_
#define DTNN_KERNELS_AMX_FLUSH_H_

#include <cmath>
#include <limits>

namespace dtnn::tile {

// Zero, with its sign, for a number that is denormal.
inline float Flush(float value) {
  return std::abs(value) < std::numeric_limits<float>::min() ? std::copysign(0.0f, value) : value;
}

// a * b + c, rounded once, where a and b are numbers of bfloat16 and none is denormal.
inline float FlushedMulAdd(float a, float b, float c) {
  const float sum = std::fma(a, b, c);
  // Whether it is denormal is asked of the sum as it would be with more exponents: just below the
  // smallest normal number there are sums that become this number only because a denormal one has
  // fewer bits. Near it, and with bfloat16 factors that are not denormal, double has all bits.
  constexpr double kSmallest = std::numeric_limits<float>::min();
  if (std::abs(sum) == float(kSmallest) &&
      std::abs(double(a) * double(b) + double(c)) < kSmallest * (1 - 0x1p-25)) {
    return std::copysign(0.0f, sum);
  }
  return Flush(sum);
}

}  // namespace dtnn::tile

#endif  // DTNN_KERNELS_AMX_FLUSH_H_
