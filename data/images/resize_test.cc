#include "data/images/resize.h"

#include <malloc.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "gtest/gtest.h"

namespace dtnn {
namespace {

// The definition, pixel by pixel in double: tent(x / reach) over all source pixels of both axes.
double Reference(const std::vector<double>& plane, const Window& window, int64_t source_width,
                 int64_t height, int64_t width, int64_t y, int64_t x) {
  const auto tent = [](double distance, double reach) {
    return std::max(0.0, 1 - std::abs(distance) / reach);
  };
  const double down = double(window.height) / double(height);
  const double across = double(window.width) / double(width);
  double sum = 0, weights = 0;
  for (int64_t i = 0; i < window.height; ++i) {
    for (int64_t j = 0; j < window.width; ++j) {
      const double weight =
          tent(double(i) + 0.5 - (double(y) + 0.5) * down, std::max(1.0, down)) *
          tent(double(j) + 0.5 - (double(x) + 0.5) * across, std::max(1.0, across));
      sum += weight * plane[(window.top + i) * source_width + window.left + j];
      weights += weight;
    }
  }
  return sum / weights;
}

// The place of (channel, y, x) in an image of `extents`.
int64_t At(const ImageExtents& extents, TensorFormat format, int64_t c, int64_t y, int64_t x) {
  return format == TensorFormat::kNHWC ? (y * extents.width + x) * extents.channels + c
                                       : (c * extents.height + y) * extents.width + x;
}

template <typename T>
void ExpectReference(const ImageExtents& extents, const Window& window, int64_t height,
                     int64_t width, double tolerance) {
  const int64_t pixels = extents.height * extents.width;
  for (TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
    std::vector<T> from(pixels * extents.channels);
    std::vector<std::vector<double>> planes(extents.channels, std::vector<double>(pixels));
    for (int64_t c = 0; c < extents.channels; ++c) {
      for (int64_t y = 0; y < extents.height; ++y) {
        for (int64_t x = 0; x < extents.width; ++x) {
          const uint8_t value = uint8_t(c * 91 + y * 57 + x * 23 + (x * y) % 17);
          from[At(extents, format, c, y, x)] = value;
          planes[c][y * extents.width + x] = value;
        }
      }
    }
    const ImageExtents result = {height, width, extents.channels};
    std::vector<T> to(height * width * extents.channels);
    ResizeBilinear(from, extents, format, window, height, width, std::span<T>(to));
    for (int64_t c = 0; c < extents.channels; ++c) {
      for (int64_t y = 0; y < height; ++y) {
        for (int64_t x = 0; x < width; ++x) {
          ASSERT_NEAR(double(to[At(result, format, c, y, x)]),
                      Reference(planes[c], window, extents.width, height, width, y, x), tolerance)
              << extents.height << 'x' << extents.width << " to " << height << 'x' << width
              << " at " << c << ' ' << y << ' ' << x;
        }
      }
    }
  }
}

TEST(ResizeTest, IsTheDefinition) {
  for (const ImageExtents& extents :
       {ImageExtents{1, 1, 1}, ImageExtents{5, 7, 3}, ImageExtents{16, 9, 2},
        ImageExtents{31, 33, 3}, ImageExtents{1, 12, 1}}) {
    for (auto [height, width] : {std::pair<int64_t, int64_t>{1, 1}, {3, 4}, {8, 8}, {32, 17}}) {
      const Window all = {0, 0, extents.height, extents.width};
      ExpectReference<float>(extents, all, height, width, 1e-3);
      ExpectReference<double>(extents, all, height, width, 1e-10);
      ExpectReference<uint8_t>(extents, all, height, width, 0.501);
    }
  }
}

TEST(ResizeTest, TakesTheWindowOnly) {
  const ImageExtents extents = {11, 13, 3};
  for (const Window& window : {Window{0, 0, 1, 1}, Window{2, 3, 5, 4}, Window{4, 0, 7, 13}}) {
    for (int64_t side : {1, 4, 9}) {
      ExpectReference<double>(extents, window, side, side, 1e-10);
      ExpectReference<uint8_t>(extents, window, side, side, 0.501);
    }
    ExpectReference<uint8_t>(extents, window, window.height, window.width, 0);  // a copy
  }
}

TEST(ResizeTest, AConstantImageStaysConstant) {
  const ImageExtents extents = {37, 23, 3};
  for (int value : {0, 1, 128, 255}) {
    const std::vector<uint8_t> from(37 * 23 * 3, uint8_t(value));
    for (int64_t side : {1, 7, 23, 64}) {
      std::vector<uint8_t> to(side * side * 3);
      ResizeBilinear(from, extents, TensorFormat::kNHWC, {0, 0, 37, 23}, side, side,
                     std::span<uint8_t>(to));
      EXPECT_EQ(to, std::vector<uint8_t>(to.size(), uint8_t(value)));
    }
  }
}

TEST(ResizeTest, HalvingAveragesAllPixels) {
  // One bright pixel among 64: without antialiasing it would be lost or doubled.
  std::vector<double> from(64), to(16);
  from[3 * 8 + 3] = 16;
  ResizeBilinear(from, {8, 8, 1}, TensorFormat::kNHWC, {0, 0, 8, 8}, 4, 4, std::span<double>(to));
  double sum = 0;
  for (double value : to) sum += value;
  EXPECT_NEAR(sum, 4, 1e-9);
}

TEST(ResizeTest, CentralCropIsTheFormula) {
  EXPECT_EQ(CentralCrop({.crop = 1}, {32, 32, 3}), (Window{0, 0, 32, 32}));
  EXPECT_EQ(CentralCrop({.crop = 0.875}, {32, 32, 3}), (Window{2, 2, 28, 28}));
  EXPECT_EQ(CentralCrop({.crop = 0.5}, {100, 40, 3}), (Window{25, 10, 50, 20}));
  EXPECT_EQ(CentralCrop({.crop = 0.875}, {5, 7, 3}),
            (Window{0, 0, 5, 7}));  // round(0.3125), round(0.4375)
  EXPECT_EQ(CentralCrop({.crop = 0.001}, {1, 2, 3}), (Window{0, 0, 1, 2}));
  EXPECT_EQ(CentralCrop({.crop = 1e-9}, {9, 10, 3}), (Window{4, 4, 1, 2}));
}

TEST(ResizeTest, TheSquareInTheMiddleComesBeforeTheCrop) {
  EXPECT_EQ(CentralCrop({.square = true}, {30, 20, 3}), (Window{5, 0, 20, 20}));
  EXPECT_EQ(CentralCrop({.square = true}, {20, 33, 3}), (Window{0, 6, 20, 20}));
  EXPECT_EQ(CentralCrop({.square = true, .crop = 0.875}, {480, 640, 3}),
            (Window{30, 110, 420, 420}));
}

TEST(ResizeTest, ExtentsFollowTheGeometry) {
  EXPECT_EQ(ExtentsAfter({.square = true}, {30, 20, 3}), (ImageExtents{20, 20, 3}));
  EXPECT_EQ(ExtentsAfter({}, {30, 20, 3}), (ImageExtents{30, 20, 3}));
  EXPECT_EQ(ExtentsAfter({.crop = 0.5}, {32, 24, 3}), (ImageExtents{16, 12, 3}));
  EXPECT_EQ(ExtentsAfter({.crop = 0.5, .resize = 7}, {32, 24, 1}), (ImageExtents{7, 7, 1}));
}

TEST(ResizeTest, ImagesAreDecodedTwiceAsLargeAsWhatIsKept) {
  EXPECT_EQ(ShortestSide({}, 224), 448);
  EXPECT_EQ(ShortestSide({.crop = 0.875}, 224), 512);
  EXPECT_EQ(ShortestSide({.crop = 1e-300}, 224), 1 << 16) << "no larger than any image";
}

TEST(ResizeTest, GeometryIsChecked) {
  EXPECT_TRUE(CheckGeometry({}).ok());
  EXPECT_TRUE(CheckGeometry({.crop = 1e-3, .resize = 1}).ok());
  for (const Geometry& geometry :
       {Geometry{.crop = 0}, Geometry{.crop = 1.1}, Geometry{.crop = std::nan("")},
        Geometry{.resize = -1}, Geometry{.resize = 65537}}) {
    EXPECT_EQ(CheckGeometry(geometry).code(), absl::StatusCode::kInvalidArgument);
  }
  EXPECT_TRUE(CheckGeometry({.crop = 1, .resize = 65536}).ok());
  EXPECT_EQ(CheckGeometry({.resize = 65537}).message(),
            "the side after a resize must be 1 to 65536, not 65537");
  EXPECT_EQ(CheckGeometry({.crop = 1.5}).message(),
            "the fraction that a central crop keeps must be in (0, 1], not 1.5");
}

// A very wide or very high sample does not leave its scratch memory with the thread.
TEST(ResizeTest, OversizedScratchIsFreed) {
  constexpr int64_t kLong = (int64_t{1} << 20) + 1;  // numbers; so many are kept, but for one
  const std::vector<double> from(kLong, 1);
  std::vector<double> to(4);
  const auto held = [] {
    const struct mallinfo2 info = mallinfo2();
    return int64_t(info.uordblks) + int64_t(info.hblkhd);
  };
  for (const ImageExtents& extents : {ImageExtents{1, kLong, 1}, ImageExtents{kLong, 1, 1}}) {
    const int64_t before = held();
    ResizeBilinear(from, extents, TensorFormat::kNHWC, CentralCrop({.crop = 1}, extents), 2, 2,
                   std::span<double>(to));
    EXPECT_LT(held() - before, kLong);
    EXPECT_NEAR(to[3], 1, 1e-9);
  }
}

}  // namespace
}  // namespace dtnn
