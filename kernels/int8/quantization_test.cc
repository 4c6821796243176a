#include "kernels/int8/quantization.h"

#include <cfloat>
#include <cmath>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tensor/philox.h"

namespace dtnn {
namespace {

TEST(QuantizationTest, RangesContainZeroAndGiveItAByte) {
  EXPECT_EQ(Quantization::OfRange(0, 255), (Quantization{1, 0}));
  EXPECT_EQ(Quantization::OfRange(2, 255), (Quantization{1, 0}));
  EXPECT_EQ(Quantization::OfRange(-255, -1), (Quantization{1, 255}));
  EXPECT_EQ(Quantization::OfRange(-1, 1), (Quantization{2.0f / 255, 127}));
  EXPECT_EQ(Quantization::OfRange(0, 0), (Quantization{1.0f / 255, 0}));
  for (const double tiny : {1e-300, 1e-40, 1e300}) {
    const Quantization q = Quantization::OfRange(0, tiny);
    EXPECT_TRUE(std::isnormal(q.scale) && std::isnormal(1 / q.scale)) << tiny;
  }
}

TEST(QuantizationTest, RangesUpToTheLargestNumbersAreKept) {
  for (const auto& [low, high] : std::vector<std::pair<float, float>>{
           {-2e38f, 2e38f}, {0.0f, 3e38f}, {-3e38f, 0.0f}, {-3e38f, 1e38f}, {-1.0f, 2e38f}}) {
    const Quantization q = Quantization::OfRange(double(low), double(high));
    const float values[] = {low, low / 2, 0, high / 3, high};
    uint8_t bytes[5];
    float back[5];
    ASSERT_TRUE(Quantize(values, 5, q, bytes));
    Dequantize(bytes, 5, q, back);
    for (size_t i = 0; i < 5; ++i) EXPECT_NEAR(back[i], values[i], q.scale) << low << " " << high;
  }
  // Every byte is a number, whatever the range.
  for (const double bound : {double(FLT_MAX), 1e300, double(INFINITY)}) {
    for (const Quantization& q :
         {Quantization::OfRange(-bound, bound), Quantization::OfRange(0, bound),
          Quantization::OfRange(-bound, 0)}) {
      const uint8_t bytes[] = {0, 255};
      float back[2];
      Dequantize(bytes, 2, q, back);
      EXPECT_TRUE(std::isfinite(back[0]) && std::isfinite(back[1])) << bound;
    }
  }
}

TEST(QuantizationTest, RoundsToNearestEvenAndClamps) {
  const Quantization q = {.scale = 0.5f, .zero_point = 10};
  const std::vector<float> values = {
      0, 0.25f, 0.75f, -0.25f, -5, -6, 122.5f, 1e30f, INFINITY, -INFINITY, 1, 2, 3, 4, 5, 6, 7};
  std::vector<uint8_t> bytes(values.size());
  EXPECT_TRUE(Quantize(values.data(), int64_t(values.size()), q, bytes.data()));
  EXPECT_EQ(bytes, (std::vector<uint8_t>{10, 10, 12, 10, 0, 0, 255, 255, 255, 0, 12, 14, 16, 18, 20,
                                         22, 24}));
  std::vector<float> back(values.size());
  Dequantize(bytes.data(), int64_t(bytes.size()), q, back.data());
  EXPECT_EQ(back[0], 0);
  EXPECT_EQ(back[2], 1);
  EXPECT_EQ(back[16], 7);
}

TEST(QuantizationTest, ANaNIsReportedWhereverItIs) {
  std::vector<uint8_t> bytes(70);
  for (size_t at = 0; at < bytes.size(); ++at) {
    std::vector<float> values(bytes.size(), 0.5f);
    EXPECT_TRUE(Quantize(values.data(), 70, {}, bytes.data()));
    values[at] = NAN;
    EXPECT_FALSE(Quantize(values.data(), 70, {}, bytes.data())) << at;
  }
}

// Vectors and the elements after the last whole one.
TEST(QuantizationTest, EveryElementIsRoundedAlike) {
  const Philox random(1, StreamId(RandomPurpose::kTest));
  const Quantization q = Quantization::OfRange(-1.7, 2.9);
  std::vector<float> values(67);
  for (size_t i = 0; i < values.size(); ++i) values[i] = float(6 * random.Uniform(i) - 3);
  std::vector<uint8_t> bytes(values.size()), one(1);
  std::vector<float> back(values.size()), single(1);
  Quantize(values.data(), 67, q, bytes.data());
  Dequantize(bytes.data(), 67, q, back.data());
  for (size_t i = 0; i < values.size(); ++i) {
    Quantize(&values[i], 1, q, one.data());
    Dequantize(one.data(), 1, q, single.data());
    EXPECT_EQ(bytes[i], one[0]) << i;
    EXPECT_EQ(back[i], single[0]) << i;
    EXPECT_NEAR(back[i], std::min(std::max(values[i], -1.7f), 2.9f), q.scale) << i;
  }
}

}  // namespace
}  // namespace dtnn
