#include "data/transforms/pad_crop.h"

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <utility>

#include "data/testing/numbered_image.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

using testing::NumberAt;
using testing::TestImage;

// Row by row as padding and cropping would: 2 1 | 0 1 2 3 | 2 1.
int64_t Mirrored(int64_t i, int64_t side) {
  while (i < 0 || i >= side) i = i < 0 ? -i : 2 * (side - 1) - i;
  return i;
}

TEST(PadCropTest, EveryShiftShowsWhatIsThereOrThePadding) {
  testing::InTypesAndFormats([](auto zero, TensorFormat format) {
    for (const ImageExtents& extents : testing::TestExtents()) {
      const int64_t height = extents.height, width = extents.width;
      for (int64_t down = 1 - height; down < height; ++down) {
        for (int64_t across = 1 - width; across < width; ++across) {
          TestImage<decltype(zero)> zeros(extents, format), mirror(extents, format);
          Shift(down, across, PadFill::kZero, zeros.image());
          Shift(down, across, PadFill::kReflect, mirror.image());
          zeros.ForEach([&](int64_t c, int64_t y, int64_t x) {
            const int64_t row = y + down, column = x + across;
            const bool inside = row >= 0 && row < height && column >= 0 && column < width;
            ASSERT_EQ(zeros.At(c, y, x), inside ? NumberAt(c, row, column) : 0);
            ASSERT_EQ(mirror.At(c, y, x),
                      NumberAt(c, Mirrored(row, height), Mirrored(column, width)));
          });
        }
      }
    }
  });
}

TEST(PadCropTest, AllShiftsOccurAlike) {
  constexpr int64_t kSamples = 25000;
  const TransformList pad = {PadCrop({.padding = 2})};
  std::map<std::pair<int64_t, int64_t>, int64_t> counts;
  for (int64_t place = 0; place < kSamples; ++place) {
    TestImage<float> image({5, 5, 1}, TensorFormat::kNCHW);
    ApplyTransforms(pad, 3, 4, place, image.image());
    const int64_t middle = int64_t(image.At(0, 2, 2)) % 10000;
    ++counts[{middle / 100 - 2, middle % 100 - 2}];
  }
  EXPECT_EQ(counts.size(), 25u);
  for (const auto& [shift, count] : counts) {
    EXPECT_LE(std::abs(shift.first), 2);
    EXPECT_LE(std::abs(shift.second), 2);
    EXPECT_NEAR(double(count), kSamples / 25.0, 6 * std::sqrt(kSamples / 25.0));
  }
}

TEST(PadCropTest, PaddingIsSmallerThanTheImage) {
  EXPECT_TRUE(CheckTransforms({PadCrop({.padding = 3})}, {4, 5, 3}, {}).ok());
  EXPECT_EQ(CheckTransforms({PadCrop({.padding = 4})}, {4, 5, 3}, {}),
            absl::InvalidArgumentError(
                "pad_crop: a padding of 4 pixels could crop away all of the samples, 4 x 5"));
}

}  // namespace
}  // namespace dtnn
