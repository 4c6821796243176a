#include "comm/wire/half.h"

#include <bit>
#include <cmath>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace dtnn {
namespace {

// The value of 5 exponent and 10 fraction bits, by the definition.
double Float16ByDefinition(uint16_t bits) {
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  const double sign = bits & 0x8000 ? -1 : 1;
  if (exponent == 31) return fraction == 0 ? sign * INFINITY : NAN;
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  return sign * std::ldexp(1024 + fraction, exponent - 25);
}

TEST(HalfTest, EveryFloat16ThereAndBack) {
  for (uint32_t bits = 0; bits < 1 << 16; ++bits) {
    const float x = FromFloat16(uint16_t(bits));
    const double wanted = Float16ByDefinition(uint16_t(bits));
    if (std::isnan(wanted)) {
      ASSERT_TRUE(std::isnan(x)) << bits;
      ASSERT_TRUE(std::isnan(FromFloat16(ToFloat16(x)))) << bits;
    } else {
      ASSERT_EQ(double(x), wanted) << bits;
      ASSERT_EQ(ToFloat16(x), bits);
    }
  }
}

// Between two neighbours: to the nearer one, from the middle to the even one.
TEST(HalfTest, Float16IsRoundedToTheNearest) {
  for (uint32_t bits = 0; bits < 0x7bff; ++bits) {
    const float low = FromFloat16(uint16_t(bits)), high = FromFloat16(uint16_t(bits + 1));
    const float middle = low + (high - low) / 2;
    ASSERT_EQ(ToFloat16(std::nextafter(middle, low)), bits);
    ASSERT_EQ(ToFloat16(std::nextafter(middle, high)), bits + 1);
    ASSERT_EQ(ToFloat16(middle), bits + bits % 2);
    ASSERT_EQ(ToFloat16(-middle), (bits + bits % 2) | 0x8000);
  }
  EXPECT_EQ(ToFloat16(65504), 0x7bff);
  EXPECT_EQ(ToFloat16(65519.99f), 0x7bff);
  EXPECT_EQ(ToFloat16(65520), 0x7c00);
  EXPECT_EQ(ToFloat16(-1e30f), 0xfc00);
}

TEST(HalfTest, Bfloat16IsTheUpperHalfRounded) {
  std::mt19937 random(8);
  for (int i = 0; i < 100000; ++i) {
    const float x = std::bit_cast<float>(uint32_t(random()));
    const uint16_t bits = ToBfloat16(x);
    if (std::isnan(x)) {
      ASSERT_TRUE(std::isnan(FromBfloat16(bits)));
      continue;
    }
    const float rounded = FromBfloat16(bits);
    if (std::isinf(rounded)) continue;
    // As near as any other: neighbours differ by 2^-7 of the power of two below.
    const double unit = std::ldexp(1.0, std::max(std::ilogb(x), -126) - 7);
    ASSERT_LE(std::abs(double(rounded) - double(x)), unit / 2) << x;
  }
  EXPECT_EQ(ToBfloat16(std::bit_cast<float>(0x3f808000u)), 0x3f80);  // middle, to even
  EXPECT_EQ(ToBfloat16(std::bit_cast<float>(0x3f818000u)), 0x3f82);
  EXPECT_TRUE(std::isnan(FromBfloat16(ToBfloat16(std::bit_cast<float>(0x7f800001u)))));
}

// Long enough for the instructions that take eight at a time, with some left.
TEST(HalfTest, ManyAtATimeAreRoundedAsOneByOne) {
  std::mt19937 random(3);
  std::vector<float> numbers(1003);
  for (float& x : numbers) {
    do {
      x = std::bit_cast<float>(uint32_t(random()));
    } while (std::isnan(x));
  }
  for (const HalfType type : {HalfType::kFloat16, HalfType::kBfloat16}) {
    const bool is_float16 = type == HalfType::kFloat16;
    std::vector<uint16_t> halves(numbers.size());
    (void)ToHalves(type, numbers, halves);
    std::vector<float> back(numbers.size());
    FromHalves(type, halves, back);
    for (size_t i = 0; i < numbers.size(); ++i) {
      ASSERT_EQ(halves[i], is_float16 ? ToFloat16(numbers[i]) : ToBfloat16(numbers[i])) << i;
      ASSERT_EQ(back[i], is_float16 ? FromFloat16(halves[i]) : FromBfloat16(halves[i])) << i;
    }
  }
}

TEST(HalfTest, SaysWhereAFiniteNumberHasBecomeInfinite) {
  for (const HalfType type : {HalfType::kFloat16, HalfType::kBfloat16}) {
    const float too_large = type == HalfType::kFloat16 ? 65520 : 3.4e38f;
    for (const size_t at : {size_t{0}, size_t{7}, size_t{8}, size_t{18}}) {
      std::vector<float> numbers(19, 1);
      std::vector<uint16_t> halves(19);
      EXPECT_TRUE(ToHalves(type, numbers, halves));
      for (const float none : {INFINITY, -INFINITY, NAN}) {
        numbers[at] = none;
        EXPECT_TRUE(ToHalves(type, numbers, halves)) << "not because of rounding";
        std::vector<float> back(19);
        FromHalves(type, halves, back);
        EXPECT_FALSE(std::isfinite(back[at]));
        EXPECT_EQ(std::isnan(back[at]), std::isnan(none));
      }
      numbers[at] = -too_large;
      EXPECT_FALSE(ToHalves(type, numbers, halves));
    }
  }
}

}  // namespace
}  // namespace dtnn
