#include "data/transforms/rotate.h"

#include <cmath>
#include <cstdint>
#include <numbers>
#include <type_traits>

#include "data/testing/numbered_image.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

using testing::NumberAt;
using testing::TestImage;

double Tolerance(auto zero) { return std::is_same_v<decltype(zero), float> ? 0.05 : 1e-8; }

TEST(RotateTest, QuarterTurnsMovePixels) {
  testing::InTypesAndFormats([](auto zero, TensorFormat format) {
    for (const int64_t side : {1, 2, 5, 6}) {
      TestImage<decltype(zero)> left({side, side, 3}, format), half = left, right = left;
      RotateImage(90, left.image());
      RotateImage(180, half.image());
      RotateImage(-90, right.image());
      const int64_t last = side - 1;
      left.ForEach([&](int64_t c, int64_t y, int64_t x) {
        // Counter-clockwise, what was on the right is on top.
        ASSERT_NEAR(left.At(c, y, x), NumberAt(c, x, last - y), Tolerance(zero));
        ASSERT_NEAR(half.At(c, y, x), NumberAt(c, last - y, last - x), Tolerance(zero));
        ASSERT_NEAR(right.At(c, y, x), NumberAt(c, last - x, y), Tolerance(zero));
      });
    }
  });
}

// Between pixels in double precision, with zeros around the image.
TEST(RotateTest, AnyAngleIsBilinear) {
  const ImageExtents extents = {6, 9, 2};
  for (const double degrees : {-170.0, -33.0, 7.0, 45.0, 120.0}) {
    testing::InTypesAndFormats([&](auto zero, TensorFormat format) {
      TestImage<decltype(zero)> image(extents, format);
      RotateImage(degrees, image.image());
      const double angle = degrees * std::numbers::pi / 180;
      image.ForEach([&](int64_t c, int64_t y, int64_t x) {
        const double up = 2.5 - double(y), across = double(x) - 4;
        // Turned back, clockwise.
        const double from_x = 4 + across * std::cos(angle) + up * std::sin(angle);
        const double from_y = 2.5 - (up * std::cos(angle) - across * std::sin(angle));
        double expected = 0;
        for (int64_t i = 0; i < extents.height; ++i) {
          for (int64_t j = 0; j < extents.width; ++j) {
            const double weight = std::max(0.0, 1 - std::abs(double(i) - from_y)) *
                                  std::max(0.0, 1 - std::abs(double(j) - from_x));
            expected += weight * NumberAt(c, i, j);
          }
        }
        ASSERT_NEAR(image.At(c, y, x), expected, Tolerance(zero)) << degrees;
      });
    });
  }
}

TEST(RotateTest, AnglesAreUniformToEitherSide) {
  constexpr int64_t kSamples = 5000;
  const TransformList rotate = {Rotate({.degrees = 20})};
  // In one row, the pixel beside the centre of a ramp says by its value how far it was turned.
  double sum = 0, squares = 0;
  for (int64_t place = 0; place < kSamples; ++place) {
    TestImage<double> image({21, 21, 1}, TensorFormat::kNHWC,
                            [](int64_t, int64_t y, int64_t) { return double(y - 10); });
    ApplyTransforms(rotate, 2, 3, place, image.image());
    const double degrees = std::asin(image.At(0, 10, 11)) * 180 / std::numbers::pi;
    ASSERT_LE(std::abs(degrees), 20);
    sum += degrees;
    squares += degrees * degrees;
  }
  EXPECT_NEAR(sum / kSamples, 0, 6 * 11.55 / std::sqrt(double(kSamples)));
  EXPECT_NEAR(squares / kSamples, 400.0 / 3, 12);
}

TEST(RotateTest, NoAngleChangesNothing) {
  TestImage<float> image({5, 4, 3}, TensorFormat::kNHWC);
  const auto original = image.values();
  ApplyTransforms({Rotate({.degrees = 0})}, 1, 2, 3, image.image());
  EXPECT_EQ(image.values(), original);
}

}  // namespace
}  // namespace dtnn
