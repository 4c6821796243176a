#include "layers/base/saturating.h"

#include "gtest/gtest.h"

namespace dtnn {
namespace {

constexpr int64_t kHalf = int64_t{1} << 32;

TEST(SaturatingTest, IsExactUpToTheLargestNumber) {
  EXPECT_EQ(SaturatingProduct({}), 1);
  EXPECT_EQ(SaturatingProduct({49, 73, 127, 337, 92737, 649657}), INT64_MAX);  // its factors
  EXPECT_EQ(SaturatingProduct({kHalf, kHalf / 4}), int64_t{1} << 62);
  EXPECT_EQ(SaturatingSum(INT64_MAX - 5, 5), INT64_MAX);
  EXPECT_EQ(SaturatingSum(2, 3), 5);
}

TEST(SaturatingTest, StaysAtTheLargestNumber) {
  EXPECT_EQ(SaturatingProduct({kHalf, kHalf}), INT64_MAX);
  EXPECT_EQ(SaturatingProduct({kHalf, kHalf, 3}), INT64_MAX);
  EXPECT_EQ(SaturatingProduct({kHalf, kHalf, 0}), 0);
  EXPECT_EQ(SaturatingSum(INT64_MAX, 1), INT64_MAX);
}

}  // namespace
}  // namespace dtnn
