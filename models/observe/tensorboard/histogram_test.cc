#include "models/observe/tensorboard/histogram.h"

#include <cmath>
#include <limits>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using ::dtnn::testing::TensorOf;
using ::testing::IsEmpty;

std::vector<double> Of(const std::vector<double>& values, DType dtype = DType::kFloat64) {
  return Histogram(TensorOf(dtype, Shape{int64_t(values.size())}, values));
}

TEST(HistogramTest, BucketsAreEqualAndHoldAll) {
  std::vector<double> values(301);
  for (size_t i = 0; i < values.size(); ++i) values[i] = double(i) / 10;  // 0 to 30
  for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
    const std::vector<double> rows = Of(values, dtype);
    ASSERT_EQ(rows.size(), 90u);
    double count = 0;
    for (size_t i = 0; i < 30; ++i) {
      EXPECT_NEAR(rows[3 * i], double(i), 1e-9);
      EXPECT_NEAR(rows[3 * i + 1], double(i + 1), 1e-9);
      EXPECT_NEAR(rows[3 * i + 2], 10, 1.01);
      count += rows[3 * i + 2];
    }
    EXPECT_EQ(count, 301);
  }
}

TEST(HistogramTest, EqualValuesAreInTheLastBucket) {
  const std::vector<double> rows = Of({7, 7, 7});
  ASSERT_EQ(rows.size(), 90u);
  EXPECT_EQ(rows[89], 3);
  EXPECT_EQ(rows[88], 7);
  EXPECT_EQ(rows[2], 0);
}

TEST(HistogramTest, WhatIsNotFiniteIsNotCounted) {
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_THAT(Of({inf, -inf, inf - inf}), IsEmpty());
  const std::vector<double> rows = Of({inf, 1, 2, -inf});
  EXPECT_EQ(rows[2], 1);
  EXPECT_EQ(rows[89], 1);
  const double most = std::numeric_limits<double>::max();
  const std::vector<double> wide = Of({-most, 0, most});
  EXPECT_EQ(wide[2], 1);
  EXPECT_EQ(wide[15 * 3 + 2], 1);
  EXPECT_EQ(wide[89], 1);
  for (const double edge : wide) EXPECT_LE(std::abs(edge), most);
}

}  // namespace
}  // namespace dtnn
