#include "kernels/cast/bfloat16.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "gtest/gtest.h"

namespace dtnn {
namespace {

float FromBits(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

TEST(Bfloat16Test, EveryNumberWidensAndComesBack) {
  std::vector<Bfloat16> all(1 << 16), back(all.size());
  for (size_t i = 0; i < all.size(); ++i) all[i].bits = uint16_t(i);
  std::vector<float> wide(all.size());
  Widen(all.data(), int64_t(all.size()), wide.data());
  Round(wide.data(), int64_t(wide.size()), back.data());
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(std::isnan(wide[i]), std::isnan(float(all[i]))) << i;
    if (!std::isnan(wide[i])) {
      ASSERT_EQ(wide[i], float(all[i])) << i;
    }
    // A NaN may have become quiet.
    ASSERT_EQ(back[i].bits, std::isnan(wide[i]) ? all[i].bits | 0x40 : all[i].bits) << i;
  }
}

// Around every tie, and at every length, so that the loop's tail is the same arithmetic.
TEST(Bfloat16Test, RoundsLikeTheScalarType) {
  std::vector<float> values;
  for (uint32_t upper = 0; upper < (1u << 16); upper += 7) {
    for (const uint32_t lower : {0x0000u, 0x0001u, 0x7fffu, 0x8000u, 0x8001u, 0xffffu}) {
      values.push_back(FromBits(upper << 16 | lower));
    }
  }
  std::vector<Bfloat16> rounded(values.size());
  Round(values.data(), int64_t(values.size()), rounded.data());
  for (size_t i = 0; i < values.size(); ++i) {
    ASSERT_EQ(rounded[i].bits, Bfloat16(values[i]).bits) << values[i];
  }
}

TEST(Bfloat16Test, TouchesAsManyAsItIsAskedTo) {
  for (int64_t count = 0; count <= 70; ++count) {
    std::vector<float> wide(size_t(count) + 1, 3.0f);
    std::vector<Bfloat16> narrow(size_t(count) + 1, Bfloat16(5));
    Round(wide.data(), count, narrow.data());
    for (int64_t i = 0; i <= count; ++i) EXPECT_EQ(float(narrow[size_t(i)]), i < count ? 3 : 5);
    narrow.assign(narrow.size(), Bfloat16(7));
    Widen(narrow.data(), count, wide.data());
    for (int64_t i = 0; i <= count; ++i) EXPECT_EQ(wide[size_t(i)], i < count ? 7 : 3);
  }
}

}  // namespace
}  // namespace dtnn
