#include "data/images/thumbnail.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "gtest/gtest.h"
#include "tensor/must.h"

namespace dtnn {
namespace {

// Sample i, value (y, x, c), in either format.
double ValueAt(int64_t i, int64_t y, int64_t x, int64_t c) {
  return std::sin(double(1 + i * 977 + y * 31 + x * 7 + c * 113)) * 3 - 1;
}

Tensor Batch(DType dtype, TensorFormat format, const ImageExtents& extents) {
  const Tensor x = Must(Tensor::Zeros(dtype, SampleShape(extents, format).Prepend(2)));
  const auto& [height, width, channels] = extents;
  DispatchFloating(dtype, [&]<typename T>(T) {
    for (int64_t i = 0; i < 2; ++i) {
      for (int64_t y = 0; y < height; ++y) {
        for (int64_t column = 0; column < width; ++column) {
          for (int64_t c = 0; c < channels; ++c) {
            const int64_t at = format == TensorFormat::kNHWC ? (y * width + column) * channels + c
                                                             : (c * height + y) * width + column;
            x.data<T>()[i * height * width * channels + at] = T(ValueAt(i, y, column, c));
          }
        }
      }
    }
  });
  return x;
}

TEST(ThumbnailTest, EveryKthPixelFromTheSmallestValueToTheLargest) {
  for (const TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
    for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
      for (const int64_t channels : {1, 2, 3, 4}) {
        for (const auto& [height, width] : {std::pair{6, 11}, {11, 6}, {10, 10}, {1, 1}, {5, 2}}) {
          const ImageExtents extents = {height, width, channels};
          const Image image = Thumbnail(Batch(dtype, format, extents), 1, format, 5);
          const int64_t step = height > 10 || width > 10 ? 3 : height > 5 ? 2 : 1;
          const int64_t shown = channels == 3 ? 3 : 1;
          std::vector<double> values;
          for (int64_t y = 0; y < height; y += step) {
            for (int64_t x = 0; x < width; x += step) {
              for (int64_t c = 0; c < shown; ++c) values.push_back(ValueAt(1, y, x, c));
            }
          }
          const auto [low, high] = std::ranges::minmax(values);
          EXPECT_EQ(image.extents,
                    (ImageExtents{(height - 1) / step + 1, (width - 1) / step + 1, shown}));
          ASSERT_EQ(image.pixels.size(), values.size());
          for (size_t i = 0; i < values.size(); ++i) {
            const double wanted = high > low ? (values[i] - low) / (high - low) * 255 : 0;
            ASSERT_NEAR(image.pixels[i], wanted, 0.51) << i;
          }
        }
      }
    }
  }
}

TEST(ThumbnailTest, OneValueEverywhereAndWhatIsNotFiniteAreBlack) {
  const Tensor x = Must(Tensor::Zeros(DType::kFloat32, {1, 1, 4, 1}));
  float* values = x.data<float>();
  std::fill_n(values, 4, 5.0f);
  EXPECT_EQ(Thumbnail(x, 0, TensorFormat::kNHWC, 8).pixels, (std::vector<uint8_t>(4)));
  values[0] = std::numeric_limits<float>::infinity();
  values[1] = std::numeric_limits<float>::quiet_NaN();
  values[2] = 6;
  EXPECT_EQ(Thumbnail(x, 0, TensorFormat::kNHWC, 8).pixels, (std::vector<uint8_t>{0, 0, 255, 0}));
}

TEST(ThumbnailTest, BatchesOfFloatingNumbersHoldImages) {
  for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
    EXPECT_TRUE(HoldsImages(Must(Tensor::Zeros(dtype, {2, 3, 4, 5}))));
    EXPECT_FALSE(HoldsImages(Must(Tensor::Zeros(dtype, {2, 3, 4}))));
  }
  EXPECT_FALSE(HoldsImages(Must(Tensor::Zeros(DType::kUint8, {2, 3, 4, 5}))));
  const Tensor wide = Must(Tensor::Zeros(DType::kFloat32, {2, 3, 4, 5}));
  EXPECT_FALSE(HoldsImages(wide.Channels(1, 2, TensorFormat::kNHWC))) << "not dense";
}

}  // namespace
}  // namespace dtnn
