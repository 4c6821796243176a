#include "data/transforms/color_jitter.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "data/testing/numbered_image.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

using testing::TestImage;

double Value(int64_t c, int64_t y, int64_t x) { return double((7 * c + 5 * y + 3 * x) % 11) / 10; }

double Grey(const std::vector<double>& pixel, bool bgr) {
  if (pixel.size() == 1) return pixel[0];
  return 0.299 * pixel[bgr ? 2 : 0] + 0.587 * pixel[1] + 0.114 * pixel[bgr ? 0 : 2];
}

// As the header says it, pixel by pixel.
std::vector<std::vector<double>> Expected(const ImageExtents& extents, bool bgr,
                                          const ColorFactors& factors) {
  std::vector<std::vector<double>> pixels;
  for (int64_t y = 0; y < extents.height; ++y) {
    for (int64_t x = 0; x < extents.width; ++x) {
      std::vector<double>& pixel = pixels.emplace_back();
      for (int64_t c = 0; c < extents.channels; ++c) {
        pixel.push_back(std::clamp(factors.brightness * Value(c, y, x), 0.0, 1.0));
      }
    }
  }
  double mean = 0;
  for (const auto& pixel : pixels) mean += Grey(pixel, bgr) / double(pixels.size());
  for (auto& pixel : pixels) {
    for (double& v : pixel) {
      v = std::clamp(factors.contrast * v + (1 - factors.contrast) * mean, 0.0, 1.0);
    }
    const double grey = Grey(pixel, bgr);
    if (pixel.size() == 1) continue;
    for (double& v : pixel) {
      v = std::clamp(factors.saturation * v + (1 - factors.saturation) * grey, 0.0, 1.0);
    }
  }
  return pixels;
}

TEST(ColorJitterTest, FactorsActOneAfterTheOther) {
  testing::InTypesAndFormats([](auto zero, TensorFormat format) {
    using T = decltype(zero);
    const double tolerance = std::is_same_v<T, float> ? 1e-5 : 1e-12;
    for (const ImageExtents& extents : {ImageExtents{5, 19, 3}, ImageExtents{4, 3, 1}}) {
      for (const bool bgr : {false, true}) {
        for (const ColorFactors& factors :
             {ColorFactors{.brightness = 1.7}, ColorFactors{.contrast = 0.2},
              ColorFactors{.contrast = 2.5}, ColorFactors{.saturation = 0},
              ColorFactors{.saturation = 1.9}, ColorFactors{0.6, 1.3, 1.4}}) {
          TestImage<T> image(extents, format, Value);
          SampleImage<T> view = image.image();
          if (bgr) view.input = Preprocessing::Input::kBgr;
          AdjustColors(factors, view);
          const auto expected = Expected(extents, bgr, factors);
          image.ForEach([&](int64_t c, int64_t y, int64_t x) {
            ASSERT_NEAR(image.At(c, y, x), expected[size_t(y * extents.width + x)][size_t(c)],
                        tolerance);
          });
        }
      }
    }
  });
}

TEST(ColorJitterTest, StrengthsOfZeroChangeNothing) {
  TestImage<float> image({5, 4, 3}, TensorFormat::kNHWC, Value);
  const auto original = image.values();
  ApplyTransforms({ColorJitter({.brightness = 0, .contrast = 0, .saturation = 0})}, 1, 2, 3,
                  image.image());
  EXPECT_EQ(image.values(), original);
}

TEST(ColorJitterTest, FactorsAreUniformAroundOne) {
  constexpr int64_t kSamples = 5000;
  for (const double strength : {0.3, 2.0}) {
    const TransformList jitter = {
        ColorJitter({.brightness = strength, .contrast = 0, .saturation = 0})};
    const double low = std::max(0.0, 1 - strength), high = 1 + strength;
    double sum = 0;
    for (int64_t place = 0; place < kSamples; ++place) {
      TestImage<double> image({2, 2, 1}, TensorFormat::kNHWC,
                              [](int64_t, int64_t, int64_t) { return 0.25; });
      ApplyTransforms(jitter, 4, 5, place, image.image());
      const double factor = image.At(0, 0, 0) / 0.25;
      ASSERT_GE(factor, low);
      ASSERT_LE(factor, high);
      sum += factor;
    }
    const double deviation = (high - low) / std::sqrt(12.0 * kSamples);
    EXPECT_NEAR(sum / kSamples, (low + high) / 2, 6 * deviation);
  }
}

TEST(ColorJitterTest, OnlyImagesOfBytesFit) {
  EXPECT_TRUE(CheckTransforms({ColorJitter()}, {4, 4, 3}, {}).ok());
  EXPECT_TRUE(CheckTransforms({ColorJitter()}, {4, 4, 1}, {}).ok());
  EXPECT_EQ(CheckTransforms({ColorJitter()}, {4, 4, 2}, {}),
            absl::InvalidArgumentError(
                "color_jitter: needs images of 1 or 3 channels, but the samples have 2"));
  Preprocessing values = {.input = Preprocessing::Input::kValues}, shifted;
  shifted.normalization = {{-0.5}, {1}};
  for (const Preprocessing& data : {values, shifted}) {
    EXPECT_EQ(CheckTransforms({ColorJitter()}, {4, 4, 3}, data),
              absl::InvalidArgumentError("color_jitter: needs values of byte / 255, but those of "
                                         "the data set are others"));
  }
}

}  // namespace
}  // namespace dtnn
