#include "comm/secrets/masked/fixed_point.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "gtest/gtest.h"

namespace dtnn::masked {
namespace {

TEST(FixedPointTest, NumbersAreRoundedToTheNearestUnit) {
  const std::vector<double> values = {0,   1,          -1,         0.5,        -0.5,
                                      0.3, 1.0 / 1024, 1.4 / 1024, -1.6 / 1024};
  std::vector<uint64_t> words(values.size());
  ASSERT_EQ(ToFixedPoint<double>(values, 10, 2, std::span(words)), absl::OkStatus());
  const int64_t wanted[] = {0, 1024, -1024, 512, -512, 307, 1, 1, -2};
  for (size_t i = 0; i < words.size(); ++i) EXPECT_EQ(int64_t(words[i]), wanted[i]) << values[i];
  std::vector<double> back(values.size());
  FromFixedPoint<double, uint64_t>(words, 10, back);
  for (size_t i = 0; i < back.size(); ++i) EXPECT_EQ(back[i], double(wanted[i]) / 1024);
}

// The largest numbers that all clients may have, both signs: nothing wraps around.
TEST(FixedPointTest, SumsOfNumbersBelowTheLimitFit) {
  for (const int clients : {1, 2, 3, 255}) {
    for (const int fraction_bits : {0, 8, 20}) {
      const double limit = FixedPointLimit(32, fraction_bits, clients);
      EXPECT_NEAR(limit, std::ldexp(1.0, 31 - fraction_bits) / clients,
                  std::ldexp(1.0, -fraction_bits));
      for (const double sign : {1.0, -1.0}) {
        const std::vector<double> most = {sign * std::nextafter(limit, 0)};
        std::vector<uint32_t> word(1);
        ASSERT_EQ(ToFixedPoint<double>(most, fraction_bits, limit, std::span(word)),
                  absl::OkStatus());
        const int64_t sum = int64_t(int32_t(word[0])) * clients;
        EXPECT_LE(sum, std::numeric_limits<int32_t>::max());
        EXPECT_GE(sum, std::numeric_limits<int32_t>::min());
        EXPECT_EQ(sum > 0, sign > 0);
      }
    }
  }
  EXPECT_EQ(FixedPointLimit(64, 45, 1), std::ldexp(1.0, 18));
}

TEST(FixedPointTest, WhatCouldWrapAroundIsRefused) {
  std::vector<uint32_t> words(1);
  for (const double value : {4.0, -4.0, 1e30, double(INFINITY), -double(INFINITY), double(NAN)}) {
    EXPECT_EQ(ToFixedPoint<double>(std::vector<double>{value}, 8, 4, std::span(words)),
              absl::InvalidArgumentError(
                  "cannot make integers: a number is NaN, infinite, or not below the limit of 4 in "
                  "magnitude, beyond which the sum could wrap around"));
  }
  EXPECT_EQ(ToFixedPoint<double>(std::vector<double>{3.99}, 8, 4, std::span(words)),
            absl::OkStatus());
  EXPECT_EQ(ToFixedPoint<double>(std::vector<double>{1, 2}, 8, 4, std::span(words)).message(),
            "cannot write 2 numbers to 1 words");
}

}  // namespace
}  // namespace dtnn::masked
