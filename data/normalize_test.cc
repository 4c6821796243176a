#include "data/normalize.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

using ::testing::ElementsAre;

template <typename T>
void ExpectFormula(const Normalization& by, const ImageExtents& extents, int64_t samples) {
  const int64_t pixels = extents.height * extents.width, channels = extents.channels;
  for (TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
    std::vector<T> values(samples * pixels * channels);
    for (size_t i = 0; i < values.size(); ++i) values[i] = T(i % 251) / 250;
    std::vector<T> result = values;
    Normalize(by, extents, format, std::span<T>(result));
    for (size_t i = 0; i < values.size(); ++i) {
      const size_t channel = format == TensorFormat::kNHWC ? i % channels : i / pixels % channels;
      const T offset = T(by.offset[by.offset.size() == 1 ? 0 : channel]);
      const T scale = T(by.scale[by.scale.size() == 1 ? 0 : channel]);
      ASSERT_EQ(result[i], (values[i] + offset) * scale) << i;
    }
  }
}

TEST(NormalizeTest, IsTheFormula) {
  for (const ImageExtents& extents : {ImageExtents{1, 1, 1}, ImageExtents{5, 7, 3},
                                      ImageExtents{4, 4, 2}, ImageExtents{3, 3, 5}}) {
    std::vector<double> offset, scale;
    for (int64_t c = 0; c < extents.channels; ++c) {
      offset.push_back(-0.5 + 0.1 * double(c));
      scale.push_back(2 + double(c));
    }
    for (int64_t samples : {1, 3}) {
      for (const Normalization& by : {Normalization{{-0.45}, {3.75}}, Normalization{offset, scale},
                                      Normalization{offset, {2}}, Normalization{{1}, scale}}) {
        ExpectFormula<float>(by, extents, samples);
        ExpectFormula<double>(by, extents, samples);
      }
    }
  }
}

TEST(NormalizeTest, NothingChangesNothing) {
  std::vector<float> values = {1, 2, 3};
  Normalize({}, {1, 1, 3}, TensorFormat::kNHWC, std::span<float>(values));
  EXPECT_THAT(values, ElementsAre(1, 2, 3));
}

TEST(NormalizeTest, ThenIsOneAfterTheOther) {
  const Normalization first = {{-1, 2, 0}, {2, 0.5, 4}}, second = {{-0.45}, {3.75}};
  const Normalization both = Then(first, second);
  std::vector<double> one = {0.1, 0.2, 0.3, 0.4, 0.5, 0.6}, two = one;
  const ImageExtents extents = {1, 2, 3};
  Normalize(first, extents, TensorFormat::kNHWC, std::span<double>(one));
  Normalize(second, extents, TensorFormat::kNHWC, std::span<double>(one));
  Normalize(both, extents, TensorFormat::kNHWC, std::span<double>(two));
  for (size_t i = 0; i < one.size(); ++i) EXPECT_NEAR(one[i], two[i], 1e-14);
  EXPECT_EQ(Then({}, second).scale, second.scale);
  EXPECT_EQ(Then(first, {}).offset, first.offset);
}

TEST(NormalizeTest, LengthsAndNumbersAreChecked) {
  EXPECT_TRUE(CheckNormalization({}, 3).ok());
  EXPECT_TRUE(CheckNormalization({{1}, {1}}, 3).ok());
  EXPECT_TRUE(CheckNormalization({{1, 2, 3}, {1}}, 3).ok());
  const double infinite = std::numeric_limits<double>::infinity();
  for (const Normalization& wrong : {Normalization{{1}, {}}, Normalization{{}, {1}},
                                     Normalization{{1, 2}, {1, 2}}, Normalization{{infinite}, {1}},
                                     Normalization{{0}, {std::nan("")}}, Normalization{{0}, {0}}}) {
    EXPECT_EQ(CheckNormalization(wrong, 3).code(), absl::StatusCode::kInvalidArgument);
  }
  EXPECT_EQ(CheckNormalization({{1, 2}, {1}}, 3).message(),
            "normalisation with 2 offsets and 1 scales; expected one each, or 3, one per channel");
  EXPECT_EQ(CheckNormalization({{1, 2, 3}, {1, 2}}, 3).message(),
            "normalisation with 3 offsets and 2 scales; expected one each, or 3, one per channel");
  EXPECT_EQ(CheckNormalization({{0, 0, 0}, {1, 0, 1}}, 3).message(),
            "normalisation with scale 0 would make all values equal");
  EXPECT_EQ(CheckNormalization({{0, -infinite, 0}, {1}}, 3).message(),
            "normalisation by -inf, which is not finite");
}

}  // namespace
}  // namespace dtnn
