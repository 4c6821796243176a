#include "apps/predict/mask_file.h"

#include <string>

#include "data/images/encode_png.h"
#include "data/images/mask_values.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

std::string_view TextOf(const std::vector<uint8_t>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TEST(MaskFileTest, IsReadLikeAnyMaskAndKnownAsItsOwn) {
  const Image mask = {.extents = {2, 3, 1}, .pixels = {0, 1, 2, 77, 254, 255}};
  const auto file = EncodeMask(mask);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_TRUE(IsOwnMask(TextOf(*file)));
  const auto read = DecodeMask(*file, "the file");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->pixels, mask.pixels);
  EXPECT_TRUE(DecodeImage(*file, "the file", {.channels = 3}).ok());
}

TEST(MaskFileTest, MasksOfOthersAreNot) {
  constexpr auto kPalette = MaskPalette();
  const auto others = EncodePng({.extents = {1, 2, 1}, .pixels = {1, 2}}, kPalette);
  ASSERT_TRUE(others.ok()) << others.status();
  EXPECT_FALSE(IsOwnMask(TextOf(*others)));
  const std::string own(TextOf(*EncodeMask({.extents = {1, 2, 1}, .pixels = {1, 2}})));
  for (size_t cut = 0; cut < 54; ++cut) EXPECT_FALSE(IsOwnMask(own.substr(0, cut))) << cut;
  EXPECT_TRUE(IsOwnMask(own.substr(0, 54)));
}

TEST(MaskFileTest, ErrorsAreThoseOfThePng) {
  EXPECT_FALSE(EncodeMask({.extents = {1, 1, 3}, .pixels = {1, 2, 3}}).ok());
}

}  // namespace
}  // namespace dtnn
