#include "data/transforms/crop.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "data/testing/numbered_image.h"
#include "gtest/gtest.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

using testing::NumberAt;
using testing::TestImage;

template <typename T>
void ExpectMoved(const TestImage<T>& image, const CropMove& move) {
  image.ForEach([&](int64_t c, int64_t y, int64_t x) {
    const int64_t down = y - move.to_top, across = x - move.to_left;
    const bool inside = down >= 0 && down < move.size && across >= 0 && across < move.size;
    ASSERT_EQ(image.At(c, y, x), inside ? NumberAt(c, move.top + down, move.left + across) : 0)
        << c << ' ' << y << ' ' << x;
  });
}

TEST(CropTest, EveryWindowMovesToEveryPlace) {
  testing::InTypesAndFormats([](auto zero, TensorFormat format) {
    for (const ImageExtents& extents : {ImageExtents{4, 4, 3}, ImageExtents{3, 5, 1}}) {
      for (int64_t size = 1; size <= std::min(extents.height, extents.width); ++size) {
        const int64_t down = extents.height - size + 1, across = extents.width - size + 1;
        for (int64_t i = 0; i < down * across * down * across; ++i) {
          const CropMove move = {size, i % down, i / down % across, i / down / across % down,
                                 i / down / across / down};
          TestImage<decltype(zero)> image(extents, format);
          MoveWindow(move, image.image());
          ExpectMoved(image, move);
        }
      }
    }
  });
}

TEST(CropTest, AWindowHasPixelsAndFits) {
  const ImageExtents extents = {.height = 8, .width = 9, .channels = 3};
  for (const int64_t size : {-5, 0, 9}) {
    EXPECT_FALSE(CheckTransforms({Crop({.size = size})}, extents, {}).ok()) << size;
    if (size > 0) continue;
    EXPECT_EQ(Crop({.size = size})->Fits(extents, {}).message(),
              StrCat("crop: a window has 1 pixel or more, not ", size));
  }
  EXPECT_EQ(Crop({.size = 1})->Fits(extents, {}), absl::OkStatus());
  EXPECT_TRUE(CheckTransforms({Crop({.size = 8})}, extents, {}).ok());
  EXPECT_EQ(CheckTransforms({Crop({.size = 9})}, extents, {}).message(),
            "crop: a window of 9 pixels is larger than the samples, 8 x 9");
}

TEST(CropTest, AWindowOfTheWholeImageChangesNothing) {
  testing::InTypesAndFormats([](auto zero, TensorFormat format) {
    TestImage<decltype(zero)> image({4, 4, 3}, format);
    const auto original = image.values();
    for (int64_t place = 0; place < 20; ++place) {
      ApplyTransforms({Crop({.size = 4, .probability = 1})}, 1, 0, place, image.image());
    }
    EXPECT_EQ(image.values(), original);
  });
}

// Finds the move that explains an image.
CropMove MoveOf(const TestImage<float>& image, int64_t size) {
  CropMove move;
  image.ForEach([&](int64_t c, int64_t y, int64_t x) {
    const int64_t value = int64_t(image.At(c, y, x));
    if (c == 0 && value != 0 && move.size == 0) {
      move = {size, value / 100 % 100, value % 100, y, x};
    }
  });
  return move;
}

TEST(CropTest, AllWindowsAndPlacesOccurAlike) {
  constexpr int64_t kSize = 3, kSamples = 40000;  // 3 x 2 windows to 3 x 2 places: 36 moves
  // Half of them only: where a window lies must not follow from whether there is one.
  const TransformList crop = {Crop({.size = kSize, .probability = 0.5})};
  std::vector<int64_t> counts(36);
  for (int64_t place = 0; place < kSamples; ++place) {
    TestImage<float> image({5, 4, 2}, TensorFormat::kNHWC);
    const auto original = image.values();
    ApplyTransforms(crop, 7, 3, place, image.image());
    if (image.values() == original) continue;
    const CropMove move = MoveOf(image, kSize);
    ExpectMoved(image, move);
    ++counts[size_t(((move.top * 2 + move.left) * 3 + move.to_top) * 2 + move.to_left)];
  }
  // Binomial: mean 556, deviation 23.
  for (int64_t count : counts) EXPECT_NEAR(double(count), kSamples / 72.0, 6 * 23.3);
}

}  // namespace
}  // namespace dtnn
