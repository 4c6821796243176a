// Operands whose products and sums hurt in different ways, and bits to compare: for tests of an
// instruction against its emulation.

#ifndef DTNN_KERNELS_AMX_TESTING_HARD_NUMBERS_H_
#define DTNN_KERNELS_AMX_TESTING_HARD_NUMBERS_H_

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#include "tensor/float16.h"
#include "tensor/philox.h"

namespace dtnn::testing {

inline constexpr int kNumberKinds = 5;

inline float HardNumber(int kind, const Philox& random, uint64_t i) {
  const float uniform = float(2 * random.Uniform(2 * i) - 1);
  const int power = int(random.Below(2 * i + 1, 12)) - 6;
  switch (kind) {
    case 0:
      return uniform;
    case 1:  // products near the smallest normal number
      return std::ldexp(uniform, power - 63);
    case 2:  // near the largest
      return std::ldexp(uniform, power + 63);
    case 3:  // far apart, so that most of a sum is rounded away
      return std::ldexp(uniform, 5 * power);
    default: {  // any bits: denormal, infinite, NaN
      float value;
      const uint32_t bits = random.Below(2 * i, 1u << 16) << 16;
      std::memcpy(&value, &bits, sizeof(value));
      return value;
    }
  }
}

template <class Halves>
void FillHard(int kind, uint64_t seed, Halves& halves) {
  const Philox random(seed, StreamId(RandomPurpose::kTest));
  for (size_t i = 0; i < halves.size(); ++i) halves[i] = Bfloat16(HardNumber(kind, random, i));
}

// Sums of the size of the products; with the bits of a float's lower half too.
template <class Sums>
void FillHardSums(int kind, uint64_t seed, Sums& sums) {
  const Philox random(seed, StreamId(RandomPurpose::kTest));
  for (size_t i = 0; i < sums.size(); ++i) {
    const float number = HardNumber(kind, random, i);
    sums[i] = kind == 4 ? number : number * number * float(1 + random.Uniform(3 * i));
  }
}

// A NaN is a NaN; which of its bits survive is not part of the contract.
inline uint32_t Bits(float value) {
  if (std::isnan(value)) value = std::numeric_limits<float>::quiet_NaN();
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

}  // namespace dtnn::testing

#endif  // DTNN_KERNELS_AMX_TESTING_HARD_NUMBERS_H_
