#include "models/quantization/range_finder.h"

#include <cmath>
#include <limits>
#include <vector>

#include "gtest/gtest.h"
#include "tensor/philox.h"

namespace dtnn {
namespace {

// Sums of uniform numbers, near a normal distribution with a deviation of 1.
std::vector<float> Bell(int count) {
  const Philox random(1, StreamId(RandomPurpose::kTest));
  std::vector<float> values;
  for (int i = 0; i < count; ++i) {
    double sum = -6;
    for (int j = 0; j < 12; ++j) sum += random.Uniform(uint64_t(12 * i + j));
    values.push_back(float(sum));
  }
  return values;
}

ValueRange Find(const std::vector<float>& values, RangeMethod method) {
  RangeFinder finder;
  // In parts, as batches bring them.
  const std::span<const float> all(values);
  const size_t half = all.size() / 2;
  EXPECT_TRUE(finder.Extend(all.first(half)) && finder.Extend(all.subspan(half)));
  if (method != RangeMethod::kMinMax)
    finder.Count(all.first(half)), finder.Count(all.subspan(half));
  return finder.Find(method);
}

TEST(RangeFinderTest, MinMaxHoldsAllValues) {
  EXPECT_EQ(Find({1, -2, 5, 3}, RangeMethod::kMinMax), (ValueRange{-2, 5}));
  EXPECT_EQ(Find({3, 3}, RangeMethod::kMinMax), (ValueRange{3, 3}));
}

TEST(RangeFinderTest, OutliersAreCutOff) {
  std::vector<float> values = Bell(100000);
  const ValueRange ends = Find(values, RangeMethod::kMinMax);
  values.push_back(40);
  EXPECT_EQ(Find(values, RangeMethod::kMinMax).high, 40);
  const ValueRange percentile = Find(values, RangeMethod::kPercentile);
  EXPECT_NEAR(percentile.low, -3.6, 0.3);
  EXPECT_NEAR(percentile.high, 3.6, 0.3);
  const ValueRange entropy = Find(values, RangeMethod::kEntropy);
  EXPECT_LT(entropy.high, 8);
  EXPECT_GT(entropy.high, 2.5);
  EXPECT_GE(entropy.low, ends.low);
}

// What a rectifier leaves: zero has a byte of its own, however often it stands there.
TEST(RangeFinderTest, ZerosDoNotNarrowTheRange) {
  std::vector<float> values = Bell(50000);
  for (float& value : values) value = std::max(value, 0.0f);
  for (const RangeMethod method : {RangeMethod::kPercentile, RangeMethod::kEntropy}) {
    const ValueRange range = Find(values, method);
    EXPECT_EQ(range.low, 0);
    EXPECT_GT(range.high, 2.5);
  }
}

TEST(RangeFinderTest, ConstantValuesHaveARange) {
  for (const RangeMethod method :
       {RangeMethod::kMinMax, RangeMethod::kPercentile, RangeMethod::kEntropy}) {
    EXPECT_EQ(Find({0, 0, 0}, method), (ValueRange{0, 0}));
    EXPECT_EQ(Find({2, 2, 2}, method), (ValueRange{2, 2}));
  }
}

TEST(RangeFinderTest, NaNAndInfinityAreReported) {
  for (const float bad : {NAN, INFINITY, -INFINITY}) {
    RangeFinder finder;
    const std::vector<float> values = {1, 2, bad, 3};
    EXPECT_FALSE(finder.Extend(values));
  }
}

TEST(RangeFinderTest, MethodsHaveNames) {
  for (const std::string_view name : {"minmax", "percentile", "entropy"}) {
    EXPECT_EQ(Name(*ParseRangeMethod(name)), name);
  }
  EXPECT_FALSE(ParseRangeMethod("median").has_value());
}

}  // namespace
}  // namespace dtnn
