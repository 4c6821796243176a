// Every value of 16 bits there and back, and the rounding of every float between two of them.

#include "tensor/float16.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "gtest/gtest.h"

namespace dtnn {
namespace {

// What the formats say: sign, exponent and mantissa as a number.
double ValueOf(uint16_t bits, int mantissa_bits, int bias) {
  const int mantissa = bits & ((1 << mantissa_bits) - 1);
  const int most = (1 << (15 - mantissa_bits)) - 1, exponent = bits >> mantissa_bits & most;
  const double sign = bits >> 15 != 0 ? -1 : 1;
  if (exponent == most) {
    return mantissa == 0 ? sign * std::numeric_limits<double>::infinity() : std::nan("");
  }
  const int one = exponent == 0 ? 0 : 1 << mantissa_bits;
  return sign * std::ldexp(one + mantissa, std::max(exponent, 1) - bias - mantissa_bits);
}

template <typename T>
struct Format;
template <>
struct Format<Float16> {
  static constexpr int kMantissa = 10, kBias = 15;
};
template <>
struct Format<Bfloat16> {
  static constexpr int kMantissa = 7, kBias = 127;
};

template <typename T>
class Float16Test : public ::testing::Test {
 protected:
  static T Of(uint16_t bits) { return std::bit_cast<T>(bits); }
  static double Value(uint16_t bits) {
    return ValueOf(bits, Format<T>::kMantissa, Format<T>::kBias);
  }
};
using Types = ::testing::Types<Float16, Bfloat16>;
TYPED_TEST_SUITE(Float16Test, Types);

TYPED_TEST(Float16Test, EveryValueIsWhatTheFormatSaysAndComesBack) {
  for (uint32_t i = 0; i < 65536; ++i) {
    const TypeParam half = this->Of(uint16_t(i));
    const double expected = this->Value(uint16_t(i));
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(float(half))) << i;
      EXPECT_TRUE(std::isnan(float(TypeParam(float(half))))) << i;
      continue;
    }
    ASSERT_EQ(double(half), expected) << i;
    ASSERT_EQ(std::signbit(float(half)), i >= 32768) << i;
    ASSERT_EQ(TypeParam(float(half)).bits, i);
  }
}

// Between each finite value and the next one away from zero, the middle goes to the even of them,
// and what lies beside the middle to the nearer one. Beyond the last is infinity.
TYPED_TEST(Float16Test, RoundsToTheNearestAndTiesToEven) {
  for (uint32_t i = 0; i < 65535; ++i) {
    const double low = this->Value(uint16_t(i));
    double high = this->Value(uint16_t(i + 1));
    if (!std::isfinite(low) || std::signbit(low) != std::signbit(high) || std::isnan(high))
      continue;
    if (std::isinf(high)) high = 2 * low - this->Value(uint16_t(i - 1));
    const float middle = float((low + high) / 2), away = i >= 32768 ? -INFINITY : INFINITY;
    ASSERT_EQ(double(middle), (low + high) / 2);
    ASSERT_EQ(TypeParam(middle).bits, i % 2 == 0 ? i : i + 1) << low;
    ASSERT_EQ(TypeParam(std::nextafter(middle, 0.0f)).bits, i) << low;
    ASSERT_EQ(TypeParam(std::nextafter(middle, away)).bits, i + 1) << low;
  }
}

TYPED_TEST(Float16Test, LargeAndSpecialFloats) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const float sign : {1.0f, -1.0f}) {
    EXPECT_EQ(float(TypeParam(sign * kInfinity)), sign * kInfinity);
    EXPECT_EQ(float(TypeParam(sign * std::numeric_limits<float>::max())), sign * kInfinity);
    EXPECT_TRUE(std::isnan(float(TypeParam(std::copysign(std::nanf(""), sign)))));
    // A NaN whose only bit would be cut off.
    const float least = std::bit_cast<float>(uint32_t{0x7f800001});
    EXPECT_TRUE(std::isnan(float(TypeParam(std::copysign(least, sign)))));
  }
  EXPECT_EQ(float(TypeParam(3)), 3);
  EXPECT_EQ(float(TypeParam(-0.5)), -0.5f);
}

TEST(Tf32Test, KeepsElevenSignificantBits) {
  for (const float base : {1.0f, -3.0f, 0x1p-120f, 1e30f}) {
    const int exponent = std::ilogb(base);
    const float ulp = std::ldexp(1.0f, exponent - 10);
    for (int i = 0; i < 32; ++i) {
      // Sixteenths of a unit, from an even number on.
      const float start = std::ldexp(1.0f, exponent);
      const float x = std::copysign(start + float(i) / 16 * ulp, base);
      const double units = std::nearbyint(double(std::abs(x)) / double(ulp));
      EXPECT_EQ(double(RoundToTf32(x)), std::copysign(units * double(ulp), double(x)));
    }
  }
  EXPECT_EQ(RoundToTf32(INFINITY), INFINITY);
  EXPECT_TRUE(std::isnan(RoundToTf32(std::bit_cast<float>(uint32_t{0x7f800001}))));
  EXPECT_EQ(RoundToTf32(0), 0);
}

}  // namespace
}  // namespace dtnn
