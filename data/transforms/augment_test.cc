#include "data/transforms/augment.h"

#include <cmath>
#include <cstdint>
#include <set>
#include <vector>

#include "gtest/gtest.h"

namespace dtnn {
namespace {

constexpr TensorFormat kFormats[] = {TensorFormat::kNHWC, TensorFormat::kNCHW};

int64_t At(const ImageExtents& extents, TensorFormat format, int64_t c, int64_t y, int64_t x) {
  return format == TensorFormat::kNHWC ? (y * extents.width + x) * extents.channels + c
                                       : (c * extents.height + y) * extents.width + x;
}

// Every value says where it was: none is 0.
double Value(int64_t c, int64_t y, int64_t x) { return double(10000 * (c + 1) + 100 * y + x); }

template <typename T>
std::vector<T> Image(const ImageExtents& extents, TensorFormat format) {
  std::vector<T> image(extents.channels * extents.height * extents.width);
  for (int64_t c = 0; c < extents.channels; ++c) {
    for (int64_t y = 0; y < extents.height; ++y) {
      for (int64_t x = 0; x < extents.width; ++x) {
        image[At(extents, format, c, y, x)] = T(Value(c, y, x));
      }
    }
  }
  return image;
}

const std::vector<ImageExtents>& Extents() {
  static const std::vector<ImageExtents> extents = {{1, 1, 1}, {4, 4, 3}, {5, 7, 3},
                                                    {6, 5, 1}, {3, 8, 2}, {1, 9, 5}};
  return extents;
}

TEST(AugmentTest, FlipMirrorsTheWidthInBothFormats) {
  for (const ImageExtents& extents : Extents()) {
    for (TensorFormat format : kFormats) {
      std::vector<float> image = Image<float>(extents, format);
      FlipLeftRight<float>(extents, format, image);
      for (int64_t c = 0; c < extents.channels; ++c) {
        for (int64_t y = 0; y < extents.height; ++y) {
          for (int64_t x = 0; x < extents.width; ++x) {
            ASSERT_EQ(image[At(extents, format, c, y, x)], Value(c, y, extents.width - 1 - x));
          }
        }
      }
      FlipLeftRight<float>(extents, format, image);
      EXPECT_EQ(image, Image<float>(extents, format)) << "twice is nothing";
    }
  }
}

// Where the pixel (y, x) after `move` comes from.
template <typename T>
void ExpectMoved(const std::vector<T>& image, const CropMove& move, const ImageExtents& extents,
                 TensorFormat format) {
  for (int64_t c = 0; c < extents.channels; ++c) {
    for (int64_t y = 0; y < extents.height; ++y) {
      for (int64_t x = 0; x < extents.width; ++x) {
        const int64_t down = y - move.to_top, across = x - move.to_left;
        const bool inside = down >= 0 && down < move.size && across >= 0 && across < move.size;
        ASSERT_EQ(image[At(extents, format, c, y, x)],
                  T(inside ? Value(c, move.top + down, move.left + across) : 0))
            << c << ' ' << y << ' ' << x;
      }
    }
  }
}

TEST(AugmentTest, EveryWindowMovesToEveryPlace) {
  for (const ImageExtents& extents : {ImageExtents{4, 4, 3}, ImageExtents{3, 5, 1}}) {
    for (TensorFormat format : kFormats) {
      for (int64_t size = 1; size <= std::min(extents.height, extents.width); ++size) {
        const int64_t down = extents.height - size + 1, across = extents.width - size + 1;
        for (int64_t i = 0; i < down * across * down * across; ++i) {
          const CropMove move = {size, i % down, i / down % across, i / down / across % down,
                                 i / down / across / down};
          std::vector<double> image = Image<double>(extents, format);
          MoveWindow<double>(move, extents, format, image);
          ExpectMoved(image, move, extents, format);
        }
      }
    }
  }
}

TEST(AugmentTest, WindowOfTheWholeImageChangesNothing) {
  for (TensorFormat format : kFormats) {
    for (int64_t size : {4, 5, 1000}) {
      std::vector<float> image = Image<float>({4, 4, 3}, format);
      for (int64_t place = 0; place < 20; ++place) {
        Augment({.crop = 1, .crop_size = size}, 1, 0, place, {4, 4, 3}, format, image);
      }
      EXPECT_EQ(image, Image<float>({4, 4, 3}, format));
    }
  }
}

// Finds the move that explains an augmented image whose window is not mirrored.
CropMove MoveOf(const std::vector<float>& image, const ImageExtents& extents, int64_t size) {
  for (int64_t y = 0; y < extents.height; ++y) {
    for (int64_t x = 0; x < extents.width; ++x) {
      const int64_t value = int64_t(image[At(extents, TensorFormat::kNHWC, 0, y, x)]);
      if (value != 0) return {size, value / 100 % 100, value % 100, y, x};
    }
  }
  return {};
}

TEST(AugmentTest, AllWindowsAndPlacesOccurAlike) {
  const ImageExtents extents = {5, 4, 2};
  constexpr int64_t kSize = 3, kSamples = 40000;  // 3 x 2 windows to 3 x 2 places: 36 moves
  const std::vector<float> original = Image<float>(extents, TensorFormat::kNHWC);
  std::vector<int64_t> counts(36);
  for (int64_t place = 0; place < kSamples; ++place) {
    std::vector<float> image = original;
    // Half of them only: where a window lies must not follow from whether there is one.
    Augment({.crop = 0.5, .crop_size = kSize}, 7, 3, place, extents, TensorFormat::kNHWC, image);
    if (image == original) continue;
    const CropMove move = MoveOf(image, extents, kSize);
    ExpectMoved(image, move, extents, TensorFormat::kNHWC);
    ++counts[((move.top * 2 + move.left) * 3 + move.to_top) * 2 + move.to_left];
  }
  // Binomial: mean 556, deviation 23.
  for (int64_t count : counts) EXPECT_NEAR(double(count), kSamples / 72.0, 6 * 23.3);
}

TEST(AugmentTest, ProbabilitiesAreThoseAskedFor) {
  const ImageExtents extents = {2, 3, 1};
  constexpr int64_t kSamples = 10000;
  for (double flip : {0.0, 0.1, 0.5, 1.0}) {
    for (double crop : {0.0, 0.3, 1.0}) {
      int64_t flipped = 0, cropped = 0, both = 0;
      for (int64_t place = 0; place < kSamples; ++place) {
        std::vector<float> image = Image<float>(extents, TensorFormat::kNCHW);
        Augment({.flip = flip, .crop = crop, .crop_size = 2}, 11, 0, place, extents,
                TensorFormat::kNCHW, image);
        bool has_zero = false, descends = false;
        for (int64_t x = 0; x < 3; ++x) {
          has_zero |= image[x] == 0;
          descends |= x > 0 && image[x] > 0 && image[x - 1] > image[x];
        }
        cropped += has_zero;
        flipped += descends;
        both += has_zero && descends;
      }
      const auto near = [&](int64_t count, double p) {
        EXPECT_NEAR(double(count), kSamples * p, 6 * std::sqrt(kSamples * p * (1 - p)))
            << flip << ' ' << crop;
      };
      near(flipped, flip);
      near(cropped, crop);
      near(both, flip * crop);  // they are independent
    }
  }
}

TEST(AugmentTest, AFunctionOfSeedEpochAndPlace) {
  const ImageExtents extents = {8, 8, 3};
  const Augmentation augmentation = {.flip = 0.5, .crop = 1, .crop_size = 3};
  const auto image = [&](uint64_t seed, int64_t epoch, int64_t place) {
    std::vector<float> values = Image<float>(extents, TensorFormat::kNHWC);
    Augment(augmentation, seed, epoch, place, extents, TensorFormat::kNHWC, values);
    return values;
  };
  std::set<std::vector<float>> seen;
  for (uint64_t seed : {0, 1}) {
    for (int64_t epoch : {0, 1}) {
      for (int64_t place : {int64_t{0}, int64_t{1}, int64_t{1} << 33}) {
        EXPECT_EQ(image(seed, epoch, place), image(seed, epoch, place));
        seen.insert(image(seed, epoch, place));
      }
    }
  }
  EXPECT_GT(seen.size(), 10u) << "of 12";
}

TEST(AugmentTest, FormatsAndTypesAgree) {
  const ImageExtents extents = {7, 6, 3};
  const Augmentation augmentation = {.flip = 0.5, .crop = 0.5, .crop_size = 4};
  for (int64_t place = 0; place < 50; ++place) {
    std::vector<float> inner = Image<float>(extents, TensorFormat::kNHWC);
    std::vector<double> planes = Image<double>(extents, TensorFormat::kNCHW);
    Augment(augmentation, 1, 2, place, extents, TensorFormat::kNHWC, inner);
    Augment(augmentation, 1, 2, place, extents, TensorFormat::kNCHW, planes);
    for (int64_t c = 0; c < 3; ++c) {
      for (int64_t y = 0; y < 7; ++y) {
        for (int64_t x = 0; x < 6; ++x) {
          ASSERT_EQ(inner[At(extents, TensorFormat::kNHWC, c, y, x)],
                    planes[At(extents, TensorFormat::kNCHW, c, y, x)]);
        }
      }
    }
  }
}

TEST(AugmentTest, OptionsAreChecked) {
  EXPECT_TRUE(CheckAugmentation({}).ok());
  EXPECT_TRUE(CheckAugmentation({.flip = 1, .crop = 1, .crop_size = 1}).ok());
  for (const Augmentation& wrong :
       {Augmentation{.flip = -0.1}, Augmentation{.flip = 1.1}, Augmentation{.crop = std::nan("")},
        Augmentation{.crop = 0.5, .crop_size = 0}}) {
    EXPECT_EQ(CheckAugmentation(wrong).code(), absl::StatusCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace dtnn
