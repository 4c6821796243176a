#include "data/transforms/transform.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "data/testing/numbered_image.h"
#include "data/transforms/crop.h"
#include "data/transforms/cutout.h"
#include "data/transforms/flip.h"
#include "data/transforms/pad_crop.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

using testing::TestImage;

constexpr ImageExtents kExtents = {5, 7, 3};

template <typename T>
std::vector<T> Transformed(const TransformList& transforms, uint64_t seed, int64_t epoch,
                           int64_t place, TensorFormat format = TensorFormat::kNHWC) {
  TestImage<T> image(kExtents, format);
  ApplyTransforms(transforms, seed, epoch, place, image.image());
  return image.values();
}

TEST(TransformTest, NumbersAreAFunctionOfAllThatTheyAreDrawnFor) {
  std::set<double> seen;
  int count = 0;
  for (uint64_t seed : {0, 1}) {
    for (int64_t epoch : {0, 1}) {
      for (int64_t place : {int64_t{0}, int64_t{1}, int64_t{1} << 33}) {
        for (uint16_t stream : {0, 1, 100}) {
          for (uint8_t repeat : {0, 1}) {
            const SampleRandom random(seed, epoch, place, stream, repeat);
            for (int i : {0, 1, 3, 4, 7, 8, 9, 39}) {
              EXPECT_EQ(random.Uniform(i),
                        SampleRandom(seed, epoch, place, stream, repeat).Uniform(i));
              seen.insert(random.Uniform(i));
              ++count;
            }
          }
        }
      }
    }
  }
  EXPECT_GT(int(seen.size()), count - 5) << "of 24 bits, hardly two are equal";
}

// How a place across follows from the one down, over many samples: about 0 where it does not.
template <typename Place>
double Correlation(const Place& place) {
  constexpr int kSamples = 4000;
  double down = 0, across = 0, downs = 0, acrosses = 0, both = 0;
  for (int i = 0; i < kSamples; ++i) {
    const auto [y, x] = place(i);
    down += y, across += x, downs += y * y, acrosses += x * x, both += y * x;
  }
  const double y = down / kSamples, x = across / kSamples;
  return (both / kSamples - y * x) /
         std::sqrt((downs / kSamples - y * y) * (acrosses / kSamples - x * x));
}

TEST(TransformTest, PlacesAcrossDoNotFollowFromThoseDown) {
  const ImageExtents extents = {64, 64, 1};
  const auto change = [&](const std::shared_ptr<const Transform>& transform, int i) {
    return transform->Change(extents, SampleRandom(1, 2, i, 3));
  };
  const auto padded = PadCrop({.padding = 20});
  EXPECT_NEAR(Correlation([&](int i) {
                const PixelChange moved = change(padded, i);
                return std::pair<double, double>(moved.down, moved.across);
              }),
              0, 0.08);
  const auto hole = Cutout({.size = 1, .fill = CutoutFill::kZero});
  EXPECT_NEAR(Correlation([&](int i) {
                const PixelChange hidden = change(hole, i);
                return std::pair<double, double>(hidden.top, hidden.left);
              }),
              0, 0.08);
  const auto cropped = Crop({.size = 8, .probability = 1});
  EXPECT_NEAR(Correlation([&](int i) {
                const PixelChange kept = change(cropped, i);
                return std::pair<double, double>(kept.top, kept.left);
              }),
              0, 0.08);
  EXPECT_NEAR(Correlation([&](int i) {
                const PixelChange kept = change(cropped, i);
                return std::pair<double, double>(kept.down, kept.across);
              }),
              0, 0.08);
}

// A device that gets bytes does what the change says, a host what the transform does.
TEST(TransformTest, ChangesSayWhatHappensToPixels) {
  const TransformList all = {Flip(),
                             Flip({.vertical = true}),
                             Crop({.size = 3}),
                             Crop({.size = 5, .probability = 1}),
                             PadCrop({.padding = 3}),
                             PadCrop({.padding = 4, .fill = PadFill::kReflect}),
                             Cutout({.size = 3, .fill = CutoutFill::kZero}),
                             Cutout({.size = 4, .fill = CutoutFill::kZero})};
  for (const auto& transform : all) {
    ASSERT_TRUE(transform->moves_pixels());
    for (int64_t at = 0; at < 100; ++at) {
      TestImage<float> image(kExtents, TensorFormat::kNCHW);
      ApplyTransforms({transform}, 1, 2, at, image.image());
      const PixelChange change =
          transform->Change(kExtents, SampleRandom(1, 2, at, transform->kind().stream));
      image.ForEach([&](int64_t c, int64_t y, int64_t x) {
        PixelPlace place = {int32_t(y), int32_t(x)};
        const bool shown =
            FindPixel(&change, 1, int32_t(kExtents.height), int32_t(kExtents.width), place);
        ASSERT_EQ(image.At(c, y, x), shown ? testing::NumberAt(c, place.row, place.column) : 0)
            << transform->kind().name << ' ' << at << ": " << c << ' ' << y << ' ' << x;
      });
    }
  }
}

TEST(TransformTest, NumbersAreUniform) {
  constexpr int kSamples = 30000;
  for (int i : {0, 5, 8, 39}) {
    double sum = 0, squares = 0;
    std::vector<int> counts(3);
    for (int64_t place = 0; place < kSamples; ++place) {
      const SampleRandom random(1, 2, place, 3);
      const double x = random.Between(i, -2, 4);
      ASSERT_GE(x, -2);
      ASSERT_LT(x, 4);
      sum += x;
      squares += (x - 1) * (x - 1);
      ++counts[size_t(random.Below(i, 3))];
    }
    EXPECT_NEAR(sum / kSamples, 1, 6 * std::sqrt(3.0 / kSamples));  // the variance of 6 u is 3
    EXPECT_NEAR(squares / kSamples, 3, 0.15);
    for (int n : counts) EXPECT_NEAR(n, kSamples / 3, 6 * std::sqrt(kSamples * 2.0 / 9));
  }
}

// What a run with flips and crops saw before lists of transforms were known, it sees again.
TEST(TransformTest, FlipAndCropDrawAsTheyAlwaysDid) {
  const TransformList transforms = {Flip(), Crop({.size = 4})};
  uint64_t sum = 0;
  for (int64_t place : {int64_t{0}, int64_t{1}, int64_t{2}, int64_t{3}, int64_t{4}, int64_t{5},
                        int64_t{6}, int64_t{49999}, int64_t{1} << 33}) {
    for (int64_t epoch : {0, 3}) {
      for (float value : Transformed<float>(transforms, 57005, epoch, place)) {
        sum = sum * 31 + uint64_t(value);
      }
    }
  }
  EXPECT_EQ(sum, 0x3c500d7a83d0df96u);
}

TEST(TransformTest, TheyActInOrderAndDrawForThemselves) {
  const TransformList pad = {PadCrop({.padding = 2})};
  const TransformList both = {Cutout({.size = 3}), PadCrop({.padding = 2})};
  const TransformList turned = {PadCrop({.padding = 2}), Cutout({.size = 3})};
  int ordered = 0;
  for (int64_t place = 0; place < 20; ++place) {
    TestImage<float> step(kExtents, TensorFormat::kNHWC);
    ApplyTransforms({both[0]}, 1, 2, place, step.image());
    ApplyTransforms(pad, 1, 2, place, step.image());
    EXPECT_EQ(Transformed<float>(both, 1, 2, place), step.values())
        << "what stands before it shifts no numbers";
    ordered += Transformed<float>(turned, 1, 2, place) != step.values();
  }
  EXPECT_GT(ordered, 10);
}

TEST(TransformTest, TwoOfAKindDrawApart) {
  const auto flip = Flip();
  int apart = 0;
  for (int64_t place = 0; place < 100; ++place) {
    apart += Transformed<float>({flip, flip}, 1, 2, place) != Transformed<float>({}, 1, 2, place);
  }
  EXPECT_NEAR(apart, 50, 30) << "twice the same numbers would give the image back";
}

TEST(TransformTest, TextsHoldAllParameters) {
  EXPECT_EQ(ToStrings({Flip(), PadCrop({.fill = PadFill::kReflect}), Cutout()}),
            (std::vector<std::string>{"flip:0.5", "pad_crop:4:reflect", "cutout:8:mean"}));
  EXPECT_EQ(ToString(*Flip({.probability = 0.1})), "flip:0.1");
  EXPECT_EQ(ToString(*Flip({.probability = 1.0 / 3})), "flip:0.3333333333333333");
}

TEST(TransformTest, ParametersAreChecked) {
  const auto check = [](const std::shared_ptr<const Transform>& transform) {
    return CheckTransforms({transform}, kExtents, {});
  };
  EXPECT_TRUE(CheckTransforms({}, kExtents, {}).ok());
  EXPECT_TRUE(check(Flip({.probability = 0})).ok());
  EXPECT_TRUE(check(Crop({.size = 5, .probability = 1})).ok());
  EXPECT_EQ(
      check(Flip({.probability = 1.1})),
      absl::InvalidArgumentError("flip: the probability must be a number from 0 to 1, not 1.1"));
  EXPECT_EQ(check(Flip({.probability = std::nan("")})).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(
      check(Crop({.size = 0})),
      absl::InvalidArgumentError("crop: the size must be a whole number from 1 to 65536, not 0"));
  EXPECT_EQ(
      check(Crop({.size = 6})),
      absl::InvalidArgumentError("crop: a window of 6 pixels is larger than the samples, 5 x 7"));
  EXPECT_TRUE(CheckTransforms(TransformList(64, Flip()), kExtents, {}).ok());
  EXPECT_FALSE(CheckTransforms(TransformList(65, Flip()), kExtents, {}).ok());
  constexpr int64_t kLongest = int64_t{1} << 30;
  EXPECT_TRUE(CheckTransforms({Flip()}, {kLongest, kLongest, 1}, {}).ok());
  for (const ImageExtents& extents :
       {ImageExtents{kLongest + 1, 1, 1}, ImageExtents{1, kLongest + 1, 1}}) {
    EXPECT_THAT(std::string(CheckTransforms({Flip()}, extents, {}).message()),
                ::testing::HasSubstr("sides of up to 2^30 are possible"));
  }
}

// As README.md says how to write one.
class Inverted final : public TransformOf<Inverted> {
 public:
  Inverted() : TransformOf(kKind, {}) {}
  template <typename T>
  void Run(const SampleImage<T>& image, const SampleRandom&) const {
    for (int64_t i = 0; i < image.size(); ++i) image.values[i] = -image.values[i];
  }

 private:
  static constexpr TransformKind kKind = {.name = "inverted", .stream = 100};
};

TEST(TransformTest, AProgramMayHaveItsOwn) {
  const auto inverted = std::make_shared<Inverted>();
  EXPECT_EQ(ToString(*inverted), "inverted");
  EXPECT_TRUE(CheckTransforms({inverted}, kExtents, {}).ok());
  std::vector<double> values = Transformed<double>({inverted}, 1, 2, 3);
  for (double& value : values) value = -value;
  EXPECT_EQ(values, Transformed<double>({}, 1, 2, 3));
}

}  // namespace
}  // namespace dtnn
