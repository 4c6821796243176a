#include "tensor/text/number.h"

#include <cmath>
#include <cstdint>

#include "gtest/gtest.h"

namespace dtnn {
namespace {

TEST(NumberTest, TheWholeTextIsTheNumber) {
  EXPECT_EQ(NumberIn<int>("-12"), -12);
  EXPECT_EQ(NumberIn<uint64_t>("18446744073709551615"), UINT64_MAX);
  EXPECT_EQ(NumberIn<double>("2.5e-3"), 0.0025);
  EXPECT_TRUE(std::isnan(*NumberIn<double>("nan")));
  EXPECT_TRUE(std::isinf(*NumberIn<double>("-inf")));
}

TEST(NumberTest, OtherTextsAreNone) {
  for (const char* text : {"", " ", " 1", "1 ", "+1", "1x", "x", "--1", "0x1", "1,5"}) {
    EXPECT_EQ(NumberIn<int64_t>(text), std::nullopt) << text;
    EXPECT_EQ(NumberIn<double>(text), std::nullopt) << text;
  }
  EXPECT_EQ(NumberIn<int>("1.5"), std::nullopt);
}

TEST(NumberTest, WhatDoesNotFitIsNone) {
  EXPECT_EQ(NumberIn<int8_t>("128"), std::nullopt);
  EXPECT_EQ(NumberIn<int8_t>("-128"), -128);
  EXPECT_EQ(NumberIn<unsigned>("-1"), std::nullopt);
  EXPECT_EQ(NumberIn<int64_t>("9223372036854775808"), std::nullopt);
  EXPECT_EQ(NumberIn<double>("1e999"), std::nullopt);
}

}  // namespace
}  // namespace dtnn
