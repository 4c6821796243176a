#include "data/images/encode_png.h"

#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

TEST(EncodePngTest, TheSamePixelsComeBack) {
  for (const int channels : {1, 3}) {
    Image image = {.extents = {5, 7, channels}, .pixels = {}};
    for (int i = 0; i < 5 * 7 * channels; ++i) image.pixels.push_back(uint8_t(i * 37));
    const auto png = EncodePng(image);
    ASSERT_TRUE(png.ok()) << png.status();
    const auto decoded = DecodeImage(*png, "the file", {.channels = channels});
    ASSERT_TRUE(decoded.ok()) << decoded.status();
    EXPECT_EQ(decoded->extents, image.extents);
    EXPECT_EQ(decoded->pixels, image.pixels);
  }
}

TEST(EncodePngTest, APaletteGivesIndicesTheirColours) {
  std::array<std::array<uint8_t, 3>, 256> palette = {};
  for (size_t i = 0; i < 256; ++i) palette[i] = {uint8_t(i), uint8_t(255 - i), uint8_t(3 * i)};
  const Image image = {.extents = {2, 3, 1}, .pixels = {0, 1, 2, 77, 254, 255}};
  const auto png = EncodePng(image, palette);
  ASSERT_TRUE(png.ok()) << png.status();
  const auto mask = DecodeMask(*png, "the file");
  ASSERT_TRUE(mask.ok()) << mask.status();
  EXPECT_EQ(mask->pixels, image.pixels);
  const auto colours = DecodeImage(*png, "the file", {.channels = 3});
  ASSERT_TRUE(colours.ok()) << colours.status();
  for (size_t i = 0; i < image.pixels.size(); ++i) {
    for (size_t c = 0; c < 3; ++c) {
      EXPECT_EQ(colours->pixels[3 * i + c], palette[image.pixels[i]][c]);
    }
  }
  EXPECT_FALSE(EncodePng({.extents = {1, 1, 3}, .pixels = {1, 2, 3}}, palette).ok());
}

// The bytes behind the end are those that would complete it.
TEST(EncodePngTest, NothingIsReadBehindTheEndOfACutFile) {
  const auto png = EncodePng({.extents = {2, 2, 1}, .pixels = {1, 2, 3, 4}});
  ASSERT_TRUE(png.ok()) << png.status();
  constexpr size_t kEnd = 12;  // the chunk IEND, behind the checksum of the data
  for (size_t cut = kEnd + 1; cut <= kEnd + 4; ++cut) {
    EXPECT_FALSE(
        DecodeImage(std::span(*png).first(png->size() - cut), "the file", {.channels = 1}).ok())
        << cut;
  }
}

TEST(EncodePngTest, PixelsThatAreMissingAreAnError) {
  EXPECT_FALSE(EncodePng({.extents = {2, 2, 1}, .pixels = {1, 2, 3}}).ok());
  EXPECT_FALSE(EncodePng({.extents = {2, 1, 2}, .pixels = {1, 2, 3, 4}}).ok());
  EXPECT_FALSE(EncodePng({.extents = {0, 0, 1}, .pixels = {}}).ok());
  EXPECT_FALSE(EncodePng({.extents = {1 << 17, 1 << 17, 1}, .pixels = {}}).ok());
}

TEST(EncodePngTest, SidesAreWithinWhatDecodingTakes) {
  constexpr int64_t kMost = 65536;
  for (const auto& [height, width] :
       {std::pair{int64_t{0}, int64_t{5}}, {5, 0}, {kMost + 1, 1}, {1, kMost + 1}, {-1, -1}}) {
    const size_t pixels = size_t(height * width);
    const absl::Status status =
        EncodePng({.extents = {height, width, 1}, .pixels = std::vector<uint8_t>(pixels)}).status();
    EXPECT_EQ(status, absl::InvalidArgumentError(StrCat("an image of ", height, " x ", width,
                                                        " pixels came with ", pixels, " bytes")));
  }
  for (const auto& [height, width] : {std::pair{int64_t{1}, kMost}, {kMost, 1}}) {
    const Image image = {.extents = {height, width, 1}, .pixels = std::vector<uint8_t>(kMost, 7)};
    const auto png = EncodePng(image);
    ASSERT_TRUE(png.ok()) << png.status();
    EXPECT_EQ(DecodeImage(*png, "the file", {.channels = 1})->pixels, image.pixels);
  }
}

}  // namespace
}  // namespace dtnn
