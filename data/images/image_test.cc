#include "data/images/image.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "data/testing/image_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

using testing::EncodeJpeg;
using testing::EncodePng;
using ::testing::HasSubstr;
using testing::JpegKind;
using testing::SmoothPixels;
using Bytes = std::vector<uint8_t>;

Image Decoded(const Bytes& bytes, const ImageOptions& options = {}) {
  absl::StatusOr<Image> image = DecodeImage(bytes, "a file", options);
  EXPECT_TRUE(image.ok()) << image.status();
  return image.ok() ? *std::move(image) : Image{};
}

absl::Status Error(std::span<const uint8_t> bytes, const ImageOptions& options = {}) {
  return DecodeImage(bytes, "a file", options).status();
}

int Luma(int red, int green, int blue) {
  return (299 * red + 587 * green + 114 * blue + 500) / 1000;
}

void ExpectClose(const Bytes& a, const Bytes& b, int tolerance) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], tolerance) << "byte " << i;
}

// Odd extents, one row, one pixel; several blocks and parts of blocks.
constexpr int kExtents[][2] = {{1, 1}, {1, 9}, {8, 8}, {17, 5}, {13, 33}};

TEST(ImageTest, PngIsExact) {
  for (const auto& [height, width] : kExtents) {
    for (const bool interlaced : {false, true}) {
      const Bytes rgb = SmoothPixels(height, width, 3);
      const Image image = Decoded(EncodePng(height, width, rgb, {.interlaced = interlaced}));
      EXPECT_EQ(image.extents, (ImageExtents{height, width, 3}));
      EXPECT_EQ(image.pixels, rgb);
      const Bytes grey = SmoothPixels(height, width, 1);
      const Bytes file =
          EncodePng(height, width, grey, {.color_type = 0, .interlaced = interlaced});
      EXPECT_EQ(Decoded(file, {.channels = 1}).pixels, grey);
      Bytes thrice;
      for (const uint8_t value : grey) thrice.insert(thrice.end(), 3, value);
      EXPECT_EQ(Decoded(file).pixels, thrice);
    }
  }
}

TEST(ImageTest, ColouredPngBecomesGreyByLuma) {
  Bytes rgb(3 * 50 * 70);  // all over the cube of colours
  for (size_t i = 0; i < rgb.size(); ++i) rgb[i] = uint8_t(i * i % 257 * 31);
  const Image image = Decoded(EncodePng(50, 70, rgb), {.channels = 1});
  EXPECT_EQ(image.extents, (ImageExtents{50, 70, 1}));
  ASSERT_EQ(image.pixels.size(), 3500u);
  for (size_t i = 0; i < 3500; ++i) {
    EXPECT_EQ(image.pixels[i], Luma(rgb[3 * i], rgb[3 * i + 1], rgb[3 * i + 2])) << i;
  }
}

TEST(ImageTest, AlphaIsDropped) {
  const Bytes rgba = SmoothPixels(3, 4, 4);
  const Image image = Decoded(EncodePng(3, 4, rgba, {.color_type = 6}));
  for (size_t i = 0; i < 12; ++i) {
    for (size_t c = 0; c < 3; ++c) EXPECT_EQ(image.pixels[3 * i + c], rgba[4 * i + c]);
  }
  const Bytes grey_alpha = SmoothPixels(3, 4, 2);
  const Image grey = Decoded(EncodePng(3, 4, grey_alpha, {.color_type = 4}), {.channels = 1});
  for (size_t i = 0; i < 12; ++i) EXPECT_EQ(grey.pixels[i], grey_alpha[2 * i]);
}

TEST(ImageTest, PalettesAreLookedUp) {
  const Bytes indices = {0, 1, 2, 2, 1, 0};
  const Bytes file = EncodePng(
      2, 3, indices, {.color_type = 3, .palette = {{1, 2, 3}, {200, 100, 50}, {7, 8, 9}}});
  EXPECT_EQ(Decoded(file).pixels,
            (Bytes{1, 2, 3, 200, 100, 50, 7, 8, 9, 7, 8, 9, 200, 100, 50, 1, 2, 3}));
  EXPECT_EQ(Decoded(file, {.channels = 1}).pixels[1], Luma(200, 100, 50));
}

TEST(ImageTest, OtherBitDepthsBecomeEight) {
  const Bytes bits = {0b10100000, 0b01000000};
  EXPECT_EQ(
      Decoded(EncodePng(2, 3, bits, {.color_type = 0, .bit_depth = 1}), {.channels = 1}).pixels,
      (Bytes{255, 0, 255, 0, 255, 0}));
  const Bytes deep = {0xff, 0xff, 0x80, 0x80, 0, 0x70, 0, 0x90};  // 65535, 32896, 112, 144
  EXPECT_EQ(
      Decoded(EncodePng(2, 2, deep, {.color_type = 0, .bit_depth = 16}), {.channels = 1}).pixels,
      (Bytes{255, 128, 0, 1}));
}

TEST(ImageTest, MasksKeepTheValuesThatAreStored) {
  for (const bool interlaced : {false, true}) {
    for (const int color_type : {0, 3}) {
      const Bytes indices = {0, 1, 2, uint8_t(color_type == 0 ? 255 : 2), 1, 0};
      const Bytes file = EncodePng(2, 3, indices,
                                   {.color_type = color_type,
                                    .interlaced = interlaced,
                                    .palette = {{1, 2, 3}, {200, 100, 50}, {7, 8, 9}}});
      const auto mask = DecodeMask(file, "mask");
      ASSERT_TRUE(mask.ok()) << mask.status();
      EXPECT_EQ(mask->extents, (ImageExtents{2, 3, 1}));
      EXPECT_EQ(mask->pixels, indices);
    }
  }
  const Bytes nibbles = {0x1f, 0x20, 0x03, 0x40};  // rows of 3 pixels of 4 bits
  EXPECT_EQ(DecodeMask(EncodePng(2, 3, nibbles, {.color_type = 0, .bit_depth = 4}), "mask")->pixels,
            (Bytes{1, 15, 2, 0, 3, 4}));
}

TEST(ImageTest, EveryCutOfAMaskIsRefused) {
  const Bytes file = EncodePng(4, 5, SmoothPixels(4, 5, 1), {.color_type = 0});
  constexpr size_t kEnd = 12;  // without it nothing of the picture is missing
  for (size_t size = 0; size + kEnd < file.size(); ++size) {
    EXPECT_FALSE(DecodeMask(std::span(file).first(size), "mask").ok()) << size;
  }
  EXPECT_TRUE(DecodeMask(file, "mask").ok());
  EXPECT_EQ(DecodeMask(file, "mask", 19).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(ImageTest, JpegIsCloseToWhatWasEncoded) {
  for (const auto& [height, width] : kExtents) {
    for (const bool progressive : {false, true}) {
      const Bytes rgb(size_t(height * width * 3), 90);
      const Image image = Decoded(EncodeJpeg(height, width, rgb, {.progressive = progressive}));
      EXPECT_EQ(image.extents, (ImageExtents{height, width, 3}));
      ExpectClose(image.pixels, rgb, 1);
      const Bytes grey = SmoothPixels(height, width, 1);
      const Bytes file =
          EncodeJpeg(height, width, grey, {.kind = JpegKind::kGrey, .progressive = progressive});
      ExpectClose(Decoded(file, {.channels = 1}).pixels, grey, 4);
      EXPECT_EQ(Decoded(file).pixels.size(), grey.size() * 3);
    }
  }
}

TEST(ImageTest, JpegKeepsTheOrderOfChannelsAndPixels) {
  Bytes rgb;  // left half red, right half blue
  for (int i = 0; i < 16 * 16; ++i) {
    const Bytes colour = i % 16 < 8 ? Bytes{220, 10, 20} : Bytes{30, 20, 240};
    rgb.insert(rgb.end(), colour.begin(), colour.end());
  }
  const Bytes file = EncodeJpeg(16, 16, rgb);
  ExpectClose(Decoded(file).pixels, rgb, 4);
  EXPECT_NEAR(Decoded(file, {.channels = 1}).pixels[0], Luma(220, 10, 20), 3);
}

TEST(ImageTest, CmykAndYcckBecomeRgb) {
  Bytes inks;  // inverted: how much light passes
  for (int i = 0; i < 64; ++i) inks.insert(inks.end(), {200, 100, 50, 128});
  for (const JpegKind kind : {JpegKind::kAdobeCmyk, JpegKind::kYcck}) {
    const Bytes file = EncodeJpeg(8, 8, inks, {.kind = kind});
    const Image image = Decoded(file);
    ASSERT_EQ(image.extents, (ImageExtents{8, 8, 3}));
    EXPECT_NEAR(image.pixels[0], 200 * 128 / 255, 2);
    EXPECT_NEAR(image.pixels[1], 100 * 128 / 255, 2);
    EXPECT_NEAR(image.pixels[2], 50 * 128 / 255, 2);
    EXPECT_NEAR(Decoded(file, {.channels = 1}).pixels[63], Luma(100, 50, 25), 2);
  }
}

// One colour at the best quality loses nothing.
TEST(ImageTest, InksAreRounded) {
  Bytes inks;
  for (int i = 0; i < 64; ++i) inks.insert(inks.end(), {200, 101, 51, 130});
  const Image image = Decoded(EncodeJpeg(8, 8, inks, {.kind = JpegKind::kAdobeCmyk}));
  EXPECT_EQ(Bytes(image.pixels.begin(), image.pixels.begin() + 3), (Bytes{102, 51, 26}));
  for (const Bytes& light : {Bytes{200, 101, 51, 130},
                             {255, 255, 255, 255},
                             {0, 255, 0, 255},
                             {255, 0, 0, 255},
                             {0, 0, 255, 255},
                             {90, 200, 33, 254}}) {
    Bytes flat;
    for (int i = 0; i < 64; ++i) flat.insert(flat.end(), light.begin(), light.end());
    const Bytes file = EncodeJpeg(8, 8, flat, {.kind = JpegKind::kAdobeCmyk});
    const auto rounded = [&](size_t i) { return (light[i] * light[3] + 127) / 255; };
    const Bytes rgb = Decoded(file).pixels;
    for (size_t i = 0; i < 3; ++i) EXPECT_EQ(rgb[i], rounded(i));
    EXPECT_EQ(Decoded(file, {.channels = 1}).pixels[0], Luma(rgb[0], rgb[1], rgb[2]));
  }
}

// What is said of the picture is newer than the library; the pixels are as ever.
TEST(ImageTest, MetadataOfALaterVersionIsNoDamage) {
  const Bytes rgb(8 * 8 * 3, 90);
  Bytes file = EncodeJpeg(8, 8, rgb);
  const Bytes mark = {'J', 'F', 'I', 'F', 0};
  const auto at = std::search(file.begin(), file.end(), mark.begin(), mark.end());
  ASSERT_NE(at, file.end());
  at[5] = 2;  // the major version
  ExpectClose(Decoded(file).pixels, rgb, 1);
}

// Without Adobe's mark they are not inverted: how much of each ink is printed.
TEST(ImageTest, InksOfOtherProgramsAreNotInverted) {
  Bytes light;
  for (int i = 0; i < 64; ++i) light.insert(light.end(), {200, 101, 51, 130});
  Bytes file = EncodeJpeg(8, 8, light, {.kind = JpegKind::kAdobeCmyk});
  const Bytes mark = {'A', 'd', 'o', 'b', 'e'};
  const auto at = std::search(file.begin(), file.end(), mark.begin(), mark.end());
  ASSERT_NE(at, file.end());
  *at = 'X';
  const Image image = Decoded(file);
  ASSERT_EQ(image.extents, (ImageExtents{8, 8, 3}));
  // 55 * 125 / 255, 154 * 125 / 255, 204 * 125 / 255.
  EXPECT_EQ(Bytes(image.pixels.begin(), image.pixels.begin() + 3), (Bytes{27, 75, 100}));
}

TEST(ImageTest, LargeJpegsAreReducedOnlyAsFarAsAsked) {
  const Bytes file = testing::FlatJpeg(65, 97, {10, 200, 30});
  const auto extents = [&](int64_t side) {
    const Image image = Decoded(file, {.shortest_side = side});
    EXPECT_NEAR(image.pixels[1], 200, 2);
    return image.extents;
  };
  EXPECT_EQ(extents(0), (ImageExtents{65, 97, 3}));
  EXPECT_EQ(extents(34), (ImageExtents{65, 97, 3}));
  EXPECT_EQ(extents(33), (ImageExtents{33, 49, 3}));
  EXPECT_EQ(extents(17), (ImageExtents{17, 25, 3}));
  EXPECT_EQ(extents(9), (ImageExtents{9, 13, 3}));
  EXPECT_EQ(extents(1), (ImageExtents{9, 13, 3}));
  EXPECT_EQ(extents(1000), (ImageExtents{65, 97, 3})) << "never enlarged";
}

TEST(ImageTest, HeadersAloneGiveTheExtents) {
  const auto extents = [](const Bytes& bytes) { return ReadImageExtents(bytes, "a file").value(); };
  Bytes png = EncodePng(3, 4, SmoothPixels(3, 4, 3));
  EXPECT_EQ(extents(png), (ImageExtents{3, 4, 3}));
  Bytes jpeg = EncodeJpeg(30, 40, SmoothPixels(30, 40, 1), {.kind = JpegKind::kGrey});
  EXPECT_EQ(extents(jpeg), (ImageExtents{30, 40, 1}));
  jpeg.resize(jpeg.size() - 100);
  EXPECT_EQ(extents(jpeg), (ImageExtents{30, 40, 1}));
  EXPECT_EQ(extents(EncodeJpeg(3, 4, SmoothPixels(3, 4, 3))), (ImageExtents{3, 4, 3}));
  const Bytes inks = EncodeJpeg(3, 4, SmoothPixels(3, 4, 4), {.kind = JpegKind::kAdobeCmyk});
  EXPECT_EQ(extents(inks), (ImageExtents{3, 4, 3}));
  for (const auto& [color_type, stored, shown] : {std::array{0, 1, 1}, {4, 2, 1}, {6, 4, 3}}) {
    png = EncodePng(3, 4, SmoothPixels(3, 4, stored), {.color_type = color_type});
    EXPECT_EQ(extents(png), (ImageExtents{3, 4, shown})) << color_type;
  }
  png = EncodePng(1, 2, Bytes{0, 1}, {.color_type = 3, .palette = {{1, 2, 3}, {4, 5, 6}}});
  EXPECT_EQ(extents(png), (ImageExtents{1, 2, 3}));
}

// The place behind the marker that begins a JPEG's frame, and behind its length.
size_t FrameOf(const Bytes& jpeg) {
  const Bytes marker = {0xff, 0xc0, 0, 17, 8};
  return size_t(std::search(jpeg.begin(), jpeg.end(), marker.begin(), marker.end()) -
                jpeg.begin()) +
         4;
}

TEST(ImageTest, KindsOfJpegThatCannotBeDecodedAreNotCalledDamaged) {
  const Bytes jpeg = EncodeJpeg(8, 8, SmoothPixels(8, 8, 3));
  const size_t frame = FrameOf(jpeg);
  ASSERT_LT(frame, jpeg.size());
  Bytes lossless = jpeg, deep = jpeg;
  lossless[frame - 3] = 0xc3;
  deep[frame] = 12;
  for (const Bytes& file : {lossless, deep}) {
    EXPECT_EQ(Error(file).code(), absl::StatusCode::kUnimplemented) << Error(file);
    EXPECT_THAT(std::string(Error(file).message()),
                HasSubstr("a file: is a kind of JPEG that cannot be decoded: "));
  }
}

// As some cameras leave them.
TEST(ImageTest, SuperfluousBytesOfAJpegAreSkipped) {
  const Bytes jpeg = EncodeJpeg(8, 8, SmoothPixels(8, 8, 3));
  Bytes file = jpeg;
  file.insert(file.begin() + long(FrameOf(jpeg)) - 4, {1, 2, 3});
  EXPECT_EQ(Decoded(file).pixels, Decoded(jpeg).pixels);
  file.insert(file.end(), {4, 5, 6});
  EXPECT_EQ(Decoded(file).pixels, Decoded(jpeg).pixels);
}

TEST(ImageTest, AsManyPixelsAsAllowedAreDecoded) {
  for (const Bytes& file :
       {EncodePng(4, 6, SmoothPixels(4, 6, 3)), EncodeJpeg(4, 6, SmoothPixels(4, 6, 3))}) {
    EXPECT_EQ(Error(file, {.max_pixels = 24}), absl::OkStatus());
    EXPECT_EQ(Error(file, {.max_pixels = 23}).message(),
              "a file: claims 6 x 4 pixels, more than the 23 that are allowed");
    EXPECT_EQ(ReadImageExtents(file, "a file", 23).status(), Error(file, {.max_pixels = 23}));
  }
}

TEST(ImageTest, EveryCutIsRefused) {
  const Bytes rgb = SmoothPixels(24, 24, 3);
  for (const Bytes& file : {EncodePng(24, 24, rgb), EncodePng(24, 24, rgb, {.interlaced = true}),
                            EncodeJpeg(24, 24, rgb, {.quality = 60}),
                            EncodeJpeg(24, 24, rgb, {.quality = 60, .progressive = true})}) {
    const Image whole = Decoded(file);
    const size_t end_of_data = file.size() - (file[0] == 0x89 ? 12 : 0);  // a PNG's mark of its end
    for (size_t size = 0; size < end_of_data; ++size) {
      const Bytes cut(file.begin(), file.begin() + long(size));
      const absl::Status status = Error(cut);
      ASSERT_FALSE(status.ok()) << size << " of " << file.size();
      ASSERT_THAT(std::string(status.message()), HasSubstr("a file: "));
    }
    // Where the mark alone is missing, nothing of the picture is.
    for (size_t size = end_of_data; size < file.size(); ++size) {
      EXPECT_EQ(Decoded(Bytes(file.begin(), file.begin() + long(size))).pixels, whole.pixels);
    }
  }
}

// Cut within the pixels: the library itself would only warn and fill up with grey.
TEST(ImageTest, CutJpegSaysSo) {
  Bytes file = EncodeJpeg(64, 64, SmoothPixels(64, 64, 3));
  file.resize(file.size() * 3 / 4);
  EXPECT_EQ(Error(file).code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(Error(file).message()),
              HasSubstr("a file: is damaged or truncated (Premature end of JPEG file)"));
}

// Each scan costs as much time as an image, and few bytes.
TEST(ImageTest, ProgressiveFilesHave200ScansAtMost) {
  const Bytes whole =
      EncodeJpeg(16, 16, SmoothPixels(16, 16, 1), {.kind = JpegKind::kGrey, .progressive = true});
  // Where tables and scans begin: after the data of the scan before, which has no markers but its
  // own.
  std::vector<size_t> starts, scans;
  for (size_t i = 0; i + 1 < whole.size(); ++i) {
    if (whole[i] != 0xff || whole[i + 1] == 0 || whole[i + 1] == 0xff) continue;
    if (whole[i + 1] == 0xda) scans.push_back(i);
    if (scans.size() > starts.size() && whole[i + 1] != 0xda) starts.push_back(i);
  }
  ASSERT_EQ(scans.size(), 6u);
  ASSERT_GE(starts.size(), 2u);
  // The second one, coefficients 1 to 5, as if these came in full: it may follow the last one.
  Bytes again(whole.begin() + long(starts[0]), whole.begin() + long(starts[1]));
  const size_t precision = scans[1] - starts[0] + 9;
  ASSERT_EQ(again[precision], 0x02);
  again[precision] = 0;
  const auto error = [&](int count) {
    Bytes file(whole.begin(), whole.end() - 2);  // without the marker of its end
    for (int i = 6; i < count; ++i) file.insert(file.end(), again.begin(), again.end());
    file.insert(file.end(), {0xff, 0xd9});
    return Error(file);
  };
  EXPECT_EQ(error(200), absl::OkStatus());
  EXPECT_EQ(error(201).code(), absl::StatusCode::kDataLoss);
}

// A file whose header promises other extents.
Bytes PngThatPromises(uint32_t width, uint32_t height) {
  Bytes png = EncodePng(1, 1, SmoothPixels(1, 1, 1), {.color_type = 0});
  const auto put = [&](size_t at, uint32_t value) {
    for (size_t i = 0; i < 4; ++i) png[at + i] = uint8_t(value >> (24 - 8 * i));
  };
  put(16, width);
  put(20, height);
  put(29, uint32_t(crc32(0, png.data() + 12, 17)));
  return png;
}

TEST(ImageTest, SidesAreLimited) {
  for (const auto& [width, height] : {std::pair(65537u, 1u), {1u, 65537u}, {1u << 28, 1u}}) {
    const Bytes png = PngThatPromises(width, height);
    for (const absl::Status& status : {Error(png), ReadImageExtents(png, "a file").status()}) {
      EXPECT_EQ(status.message(), "a file: claims " + std::to_string(width) + " x " +
                                      std::to_string(height) +
                                      " pixels; no side may have more than 65536");
    }
  }
  EXPECT_TRUE(ReadImageExtents(PngThatPromises(65536, 1), "a file").ok());
  EXPECT_TRUE(Error(EncodePng(1, 65536, Bytes(65536), {.color_type = 0})).ok());
}

TEST(ImageTest, ExtentsAreCheckedBeforeMemoryIsTaken) {
  EXPECT_TRUE(Error(PngThatPromises(1, 1), {.max_pixels = 1}).ok());
  const Bytes png = PngThatPromises(60000, 60000);
  EXPECT_EQ(Error(png).message(),
            "a file: claims 60000 x 60000 pixels, more than the 268435456 that are allowed");
  EXPECT_EQ(Error(png, {.max_pixels = int64_t{1} << 40}).code(), absl::StatusCode::kDataLoss);

  Bytes jpeg = testing::FlatJpeg(16, 16, {1, 2, 3});
  const Bytes frame = {0xff, 0xc0, 0, 17, 8, 0, 16, 0, 16};
  const auto at = std::search(jpeg.begin(), jpeg.end(), frame.begin(), frame.end());
  ASSERT_NE(at, jpeg.end());
  at[5] = at[7] = 0x7f;
  at[6] = at[8] = 0xff;
  EXPECT_EQ(Error(jpeg).message(),
            "a file: claims 32767 x 32767 pixels, more than the 268435456 that are allowed");
  at[5] = at[7] = 0x3f;  // within the limit, but not with so few bytes
  EXPECT_EQ(Error(jpeg).code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(Error(jpeg).message()),
              HasSubstr("claims 16383 x 16383 pixels, which a file of"));
}

TEST(ImageTest, OtherFilesAreRefused) {
  EXPECT_EQ(Error({}).message(), "a file: is empty; is the download complete?");
  EXPECT_EQ(Error(Bytes{'G', 'I', 'F', '8', '9', 'a'}).message(),
            "a file: is a GIF image; images must be JPEG or PNG files");
  EXPECT_EQ(Error(Bytes{1, 2, 3, 4, 5}).message(),
            "a file: is neither a JPEG nor a PNG image: it starts with 01 02 03 04");
  EXPECT_EQ(Error(Bytes{1, 2, 3}).message(),
            "a file: is neither a JPEG nor a PNG image: it starts with 01 02 03");
  EXPECT_EQ(Error(EncodePng(1, 1, Bytes{1, 2, 3}), {.channels = 2}).message(),
            "a file: images have 1 or 3 channels, not 2");
}

TEST(ImageTest, DamageIsFound) {
  Bytes png = EncodePng(9, 9, SmoothPixels(9, 9, 3));
  png[png.size() - 20] ^= 1;
  EXPECT_EQ(Error(png).code(), absl::StatusCode::kDataLoss);
  png[png.size() - 20] ^= 1;
  png.back() ^= 1;  // after the pixels
  EXPECT_EQ(Error(png),
            absl::DataLossError("a file: is damaged (IEND: CRC error); is it complete?"));
}

}  // namespace
}  // namespace dtnn
