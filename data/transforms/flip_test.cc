#include "data/transforms/flip.h"

#include <cmath>
#include <cstdint>

#include "data/testing/numbered_image.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

using testing::NumberAt;
using testing::TestImage;

TEST(FlipTest, MirrorsTheWidthOrTheHeight) {
  testing::InTypesAndFormats([](auto zero, TensorFormat format) {
    for (const ImageExtents& extents : testing::TestExtents()) {
      TestImage<decltype(zero)> across(extents, format), down(extents, format);
      const auto original = across.values();
      FlipLeftRight(across.image());
      FlipTopBottom(down.image());
      across.ForEach([&](int64_t c, int64_t y, int64_t x) {
        ASSERT_EQ(across.At(c, y, x), NumberAt(c, y, extents.width - 1 - x));
        ASSERT_EQ(down.At(c, y, x), NumberAt(c, extents.height - 1 - y, x));
      });
      FlipLeftRight(across.image());
      FlipTopBottom(down.image());
      EXPECT_EQ(across.values(), original) << "twice is nothing";
      EXPECT_EQ(down.values(), original);
    }
  });
}

TEST(FlipTest, ItsProbabilityIsThatAskedFor) {
  constexpr int64_t kSamples = 10000;
  for (const bool vertical : {false, true}) {
    for (const double p : {0.0, 0.1, 0.5, 1.0}) {
      const TransformList flip = {Flip({.probability = p, .vertical = vertical})};
      TestImage<float> mirrored({2, 3, 1}, TensorFormat::kNHWC);
      vertical ? FlipTopBottom(mirrored.image()) : FlipLeftRight(mirrored.image());
      int64_t flipped = 0;
      for (int64_t place = 0; place < kSamples; ++place) {
        TestImage<float> image({2, 3, 1}, TensorFormat::kNHWC);
        const auto original = image.values();
        ApplyTransforms(flip, 11, 0, place, image.image());
        ASSERT_TRUE(image.values() == original || image.values() == mirrored.values());
        flipped += image.values() != original;
      }
      EXPECT_NEAR(double(flipped), kSamples * p, 6 * std::sqrt(kSamples * p * (1 - p)));
    }
  }
}

}  // namespace
}  // namespace dtnn
