#include "data/images/mask_values.h"

#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

using ::testing::ElementsAre;

// As the development kit of PASCAL VOC publishes them.
TEST(MaskPaletteTest, ColoursAreThoseOfPascalVoc) {
  const auto palette = MaskPalette();
  EXPECT_THAT(palette[0], ElementsAre(0, 0, 0));
  EXPECT_THAT(palette[1], ElementsAre(128, 0, 0));
  EXPECT_THAT(palette[2], ElementsAre(0, 128, 0));
  EXPECT_THAT(palette[3], ElementsAre(128, 128, 0));
  EXPECT_THAT(palette[4], ElementsAre(0, 0, 128));
  EXPECT_THAT(palette[8], ElementsAre(64, 0, 0));
  EXPECT_THAT(palette[15], ElementsAre(192, 128, 128));
  EXPECT_THAT(palette[20], ElementsAre(0, 64, 128));
  EXPECT_THAT(palette[kMaskWithoutClass], ElementsAre(224, 224, 192));
}

TEST(MaskPaletteTest, NoTwoClassesLookAlike) {
  const auto palette = MaskPalette();
  EXPECT_EQ(std::set(palette.begin(), palette.end()).size(), 256);
}

}  // namespace
}  // namespace dtnn
