#include "data/transforms/cutout.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "data/testing/numbered_image.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

using testing::NumberAt;
using testing::TestImage;

TEST(CutoutTest, ASquareIsFilledAndNothingElse) {
  testing::InTypesAndFormats([](auto zero, TensorFormat format) {
    for (const ImageExtents& extents : testing::TestExtents()) {
      for (const int64_t size : {1, 2, 3, 50}) {
        for (const CutoutFill fill : {CutoutFill::kMean, CutoutFill::kZero}) {
          for (int64_t place = 0; place < 20; ++place) {
            TestImage<decltype(zero)> image(extents, format);
            ApplyTransforms({Cutout({.size = size, .fill = fill})}, 5, 6, place, image.image());
            const SampleRandom random(5, 6, place, CutoutKind().stream);
            const int64_t top = random.Below(0, extents.height) - size / 2;
            const int64_t left = random.Below(1, extents.width) - size / 2;
            image.ForEach([&](int64_t c, int64_t y, int64_t x) {
              const bool inside = y >= top && y < top + size && x >= left && x < left + size;
              const double mean = NumberAt(c, 0, 0) + 50.0 * double(extents.height - 1) +
                                  0.5 * double(extents.width - 1);
              const double filled = fill == CutoutFill::kMean ? mean : 0;
              ASSERT_EQ(image.At(c, y, x), inside ? filled : NumberAt(c, y, x));
            });
          }
        }
      }
    }
  });
}

// A pixel is hit by the squares whose centres are near: fewer at the edge.
TEST(CutoutTest, EveryPixelMayBeTheCentre) {
  constexpr int64_t kSamples = 20000, kSide = 6, kSize = 3;
  std::vector<int64_t> hits(kSide * kSide);
  for (int64_t place = 0; place < kSamples; ++place) {
    TestImage<float> image({kSide, kSide, 1}, TensorFormat::kNHWC);
    ApplyTransforms({Cutout({.size = kSize, .fill = CutoutFill::kZero})}, 1, 0, place,
                    image.image());
    for (size_t i = 0; i < hits.size(); ++i) hits[i] += image.values()[i] == 0;
  }
  for (int64_t i = 0; i < kSide * kSide; ++i) {
    const auto near = [](int64_t at) { return at == 0 || at == kSide - 1 ? 2 : 3; };
    const double p = double(near(i / kSide) * near(i % kSide)) / (kSide * kSide);
    EXPECT_NEAR(double(hits[size_t(i)]), kSamples * p, 6 * std::sqrt(kSamples * p * (1 - p)));
  }
}

}  // namespace
}  // namespace dtnn
