#include "data/transforms/resized_crop.h"

#include <cmath>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "data/images/resize.h"
#include "data/testing/numbered_image.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

using testing::TestImage;

TEST(ResizedCropTest, EveryWindowIsEnlargedAsResizingDoes) {
  testing::InTypesAndFormats([](auto zero, TensorFormat format) {
    using T = decltype(zero);
    const double tolerance = std::is_same_v<T, float> ? 0.05 : 1e-8;
    for (const ImageExtents& extents : testing::TestExtents()) {
      for (int64_t i = 0; i < 200; ++i) {
        const SampleRandom random(1, 2, i, 99);
        const int64_t height = 1 + random.Below(0, extents.height);
        const int64_t width = 1 + random.Below(1, extents.width);
        const int64_t top = random.Below(2, extents.height - height + 1);
        const int64_t left = random.Below(3, extents.width - width + 1);
        TestImage<T> image(extents, format);
        std::vector<T> expected(image.values().size());
        ResizeBilinear(std::span<const T>(image.values()), extents, format,
                       Window{top, left, height, width}, extents.height, extents.width,
                       std::span<T>(expected));
        Enlarge({top, left, height, width}, image.image());
        for (size_t j = 0; j < expected.size(); ++j) {
          ASSERT_NEAR(image.values()[j], expected[j], tolerance);
        }
      }
    }
  });
}

TEST(ResizedCropTest, WindowsHaveTheSharesAndRatiosAskedFor) {
  constexpr int64_t kSamples = 5000;
  const ResizedCropOptions options = {
      .area_low = 0.25, .area_high = 0.5, .ratio_low = 0.5, .ratio_high = 2};
  const ImageExtents extents = {400, 300, 3};
  double areas = 0, ratios = 0, tops = 0, lefts = 0, both = 0;
  for (int64_t place = 0; place < kSamples; ++place) {
    const WarpWindow window =
        DrawWindow(options, extents, SampleRandom(3, 4, place, ResizedCropKind().stream));
    ASSERT_GE(window.top, 0);
    ASSERT_GE(window.left, 0);
    ASSERT_LE(window.top + window.height, extents.height);
    ASSERT_LE(window.left + window.width, extents.width);
    const double area = double(window.height * window.width) / (400 * 300);
    const double ratio = double(window.width) / double(window.height);
    ASSERT_GE(area, 0.25 * 0.99);
    ASSERT_LE(area, 0.5 * 1.01);
    ASSERT_GE(ratio, 0.5 * 0.98);
    ASSERT_LE(ratio, 2 * 1.02);
    areas += area;
    ratios += std::log(ratio);
    if (window.height < 400) tops += double(window.top) / double(400 - window.height);
    if (window.height < 400 && window.width < 300) {
      both += (double(window.top) / double(400 - window.height) - 0.5) *
              (double(window.left) / double(300 - window.width) - 0.5);
    }
    if (window.width < 300) lefts += double(window.left) / double(300 - window.width);
  }
  // Wide parts that do not fit are drawn again, so ratios lean to the tall side.
  EXPECT_NEAR(areas / kSamples, 0.375, 0.02);
  EXPECT_NEAR(ratios / kSamples, 0, 0.2);
  EXPECT_NEAR(tops / kSamples, 0.5, 0.03);
  EXPECT_NEAR(lefts / kSamples, 0.5, 0.03);
  EXPECT_NEAR(both / kSamples, 0, 0.01) << "a twelfth where one place follows from the other";
}

TEST(ResizedCropTest, APartThatNeverFitsIsTheLargestCentralOne) {
  const SampleRandom random(1, 2, 3, 4);
  const auto draw = [&](double ratio_low, double ratio_high, const ImageExtents& extents) {
    const WarpWindow w = DrawWindow(
        {.area_low = 1, .area_high = 1, .ratio_low = ratio_low, .ratio_high = ratio_high}, extents,
        random);
    return std::vector<int64_t>{w.top, w.left, w.height, w.width};
  };
  EXPECT_EQ(draw(1, 1, {10, 20, 3}), (std::vector<int64_t>{0, 5, 10, 10}));
  EXPECT_EQ(draw(1, 1, {20, 10, 3}), (std::vector<int64_t>{5, 0, 10, 10}));
  EXPECT_EQ(draw(2, 2, {10, 10, 3}), (std::vector<int64_t>{2, 0, 5, 10}));
  EXPECT_EQ(draw(100, 100, {10, 10, 3}), (std::vector<int64_t>{4, 0, 1, 10}));
  // The image's own ratio where it is within the range, which no draw meets exactly.
  EXPECT_EQ(draw(3.9, 4.1, {10000, 40000, 3}), (std::vector<int64_t>{0, 0, 10000, 40000}));
}

TEST(ResizedCropTest, TheWholeImageStaysAsItIs) {
  testing::InTypesAndFormats([](auto zero, TensorFormat format) {
    TestImage<decltype(zero)> image({6, 6, 3}, format);
    const auto original = image.values();
    const TransformList whole = {
        ResizedCrop({.area_low = 1, .area_high = 1, .ratio_low = 1, .ratio_high = 1})};
    for (int64_t place = 0; place < 10; ++place) {
      ApplyTransforms(whole, 1, 2, place, image.image());
    }
    EXPECT_EQ(image.values(), original);
  });
}

TEST(ResizedCropTest, RangesAreInOrder) {
  EXPECT_EQ(CheckTransforms({ResizedCrop({.area_low = 0.5, .area_high = 0.25})}, {4, 4, 3}, {}),
            absl::InvalidArgumentError("resized_crop: area_low, 0.5, is above area_high, 0.25"));
  EXPECT_FALSE(CheckTransforms({ResizedCrop({.ratio_low = 2})}, {4, 4, 3}, {}).ok());
  EXPECT_FALSE(CheckTransforms({ResizedCrop({.area_low = 0})}, {4, 4, 3}, {}).ok());
  EXPECT_TRUE(CheckTransforms({ResizedCrop()}, {4, 4, 3}, {}).ok());
}

}  // namespace
}  // namespace dtnn
