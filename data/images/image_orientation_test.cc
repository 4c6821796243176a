#include <zlib.h>

#include <array>
#include <string>

#include "data/images/image.h"
#include "data/testing/image_files.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

using testing::EncodeJpeg;
using testing::EncodePng;
using testing::SmoothPixels;
using Bytes = std::vector<uint8_t>;

constexpr int64_t kHeight = 5, kWidth = 3;  // as shown

// EXIF of one entry.
Bytes Exif(bool big_endian, uint32_t tag, uint32_t type, uint32_t count, uint32_t value) {
  Bytes bytes;
  const auto put = [&](uint32_t number, int size) {
    for (int i = 0; i < size; ++i) {
      bytes.push_back(uint8_t(number >> 8 * (big_endian ? size - 1 - i : i)));
    }
  };
  for (const char c : std::string(big_endian ? "MM" : "II")) bytes.push_back(uint8_t(c));
  put(42, 2);
  put(10, 4);  // two bytes that belong to nothing, then the directory
  put(0xffff, 2);
  put(2, 2);
  put(0x010f, 2), put(2, 2), put(4, 4), put(0, 4);  // the maker
  put(tag, 2), put(type, 2), put(count, 4);
  put(value, 2), put(0, 2);
  put(0, 4);
  return bytes;
}
Bytes Exif(uint32_t orientation, bool big_endian = false) {
  return Exif(big_endian, 0x0112, 3, 1, orientation);
}

Bytes WithSegment(const Bytes& jpeg, uint8_t marker, const std::string& head, const Bytes& data) {
  const size_t length = 2 + head.size() + data.size();
  Bytes segment = {0xff, marker, uint8_t(length >> 8), uint8_t(length)};
  segment.insert(segment.end(), head.begin(), head.end());
  segment.insert(segment.end(), data.begin(), data.end());
  Bytes file = jpeg;
  file.insert(file.begin() + 2, segment.begin(), segment.end());
  return file;
}
Bytes JpegWith(const Bytes& jpeg, const Bytes& exif) {
  return WithSegment(jpeg, 0xe1, std::string("Exif\0\0", 6), exif);
}

// After the header, or before the end.
Bytes PngWith(const Bytes& png, const Bytes& exif, bool late = false) {
  Bytes chunk = {0, 0, 0, uint8_t(exif.size()), 'e', 'X', 'I', 'f'};
  chunk.insert(chunk.end(), exif.begin(), exif.end());
  const uint32_t sum = uint32_t(crc32(0, chunk.data() + 4, uInt(chunk.size() - 4)));
  for (int shift = 24; shift >= 0; shift -= 8) chunk.push_back(uint8_t(sum >> shift));
  Bytes file = png;
  file.insert(late ? file.end() - 12 : file.begin() + 33, chunk.begin(), chunk.end());
  return file;
}

// Which sides of what is shown the first row and the first column of what is stored are: the words
// of the EXIF specification.
enum Side { kTop, kBottom, kLeft, kRight };
constexpr std::pair<Side, Side> kSides[] = {{kTop, kLeft},     {kTop, kRight},  {kBottom, kRight},
                                            {kBottom, kLeft},  {kLeft, kTop},   {kRight, kTop},
                                            {kRight, kBottom}, {kLeft, kBottom}};

// `shown` as a camera stores it that notes this orientation.
Image Stored(const Bytes& shown, int orientation) {
  const auto [row_side, column_side] = kSides[orientation - 1];
  const bool turned = row_side == kLeft || row_side == kRight;
  Image stored = {{turned ? kWidth : kHeight, turned ? kHeight : kWidth, 3}, {}};
  const auto distance = [](Side side, int64_t steps) {  // from the top or the left
    return side == kTop || side == kLeft ? steps : (side == kBottom ? kHeight : kWidth) - 1 - steps;
  };
  for (int64_t row = 0; row < stored.extents.height; ++row) {
    for (int64_t column = 0; column < stored.extents.width; ++column) {
      const int64_t of_row = distance(row_side, row), of_column = distance(column_side, column);
      const int64_t y = turned ? of_column : of_row, x = turned ? of_row : of_column;
      for (int64_t c = 0; c < 3; ++c) {
        stored.pixels.push_back(shown[size_t((y * kWidth + x) * 3 + c)]);
      }
    }
  }
  return stored;
}

void ExpectShown(const Bytes& file, const Bytes& pixels, int tolerance = 0) {
  const ImageExtents extents = {kHeight, kWidth, 3};
  const absl::StatusOr<Image> image = DecodeImage(file, "a file");
  ASSERT_TRUE(image.ok()) << image.status();
  EXPECT_EQ(image->extents, extents);
  EXPECT_EQ(*ReadImageExtents(file, "a file"), extents);
  ASSERT_EQ(image->pixels.size(), pixels.size());
  for (size_t i = 0; i < pixels.size(); ++i) {
    ASSERT_NEAR(image->pixels[i], pixels[i], tolerance) << i;
  }
}

TEST(ImageOrientationTest, TheImageIsTheOneThatViewersShow) {
  const Bytes shown = SmoothPixels(kHeight, kWidth, 3);
  for (int orientation = 1; orientation <= 8; ++orientation) {
    const Image stored = Stored(shown, orientation);
    const int height = int(stored.extents.height), width = int(stored.extents.width);
    const Bytes png = EncodePng(height, width, stored.pixels);
    const Bytes jpeg = EncodeJpeg(height, width, stored.pixels);
    for (const bool big_endian : {false, true}) {
      SCOPED_TRACE(orientation);
      ExpectShown(PngWith(png, Exif(uint32_t(orientation), big_endian)), shown);
      ExpectShown(PngWith(png, Exif(uint32_t(orientation), big_endian), /*late=*/true), shown);
      ExpectShown(JpegWith(jpeg, Exif(uint32_t(orientation), big_endian)), shown, 12);
    }
    // A grey image, and one that is decoded at a fraction of its size.
    const Image grey = *DecodeImage(PngWith(png, Exif(uint32_t(orientation))), "", {.channels = 1});
    EXPECT_EQ(grey.extents, (ImageExtents{kHeight, kWidth, 1}));
  }
  const Bytes tall = EncodeJpeg(64, 32, SmoothPixels(64, 32, 3));
  EXPECT_EQ(DecodeImage(JpegWith(tall, Exif(6)), "", {.shortest_side = 8})->extents,
            (ImageExtents{8, 16, 3}));
}

TEST(ImageOrientationTest, OtherSegmentsStandBeforeIt) {
  const Bytes shown = SmoothPixels(kHeight, kWidth, 3);
  const Image stored = Stored(shown, 8);
  const Bytes jpeg =
      EncodeJpeg(int(stored.extents.height), int(stored.extents.width), stored.pixels);
  Bytes file = WithSegment(JpegWith(jpeg, Exif(8)), 0xe1, "http://ns.adobe.com/xap/1.0/", {0, 1});
  file = WithSegment(file, 0xfe, "a comment", {});
  file = WithSegment(file, 0xfe, std::string(1000, 'x'), {});
  file.insert(file.begin() + 2, {0xff, 0xff});  // fill bytes
  ExpectShown(file, shown, 12);
}

// What is damaged, and what stands in a thumbnail's directory or after the pixels, counts as
// upright.
TEST(ImageOrientationTest, WhatIsNoOrientationChangesNothing) {
  const Bytes shown = SmoothPixels(kHeight, kWidth, 3);
  const Bytes png = EncodePng(kHeight, kWidth, shown);
  std::vector<Bytes> odd = {{},
                            Exif(0),
                            Exif(9),
                            Exif(0xffff),
                            Exif(false, 0x0113, 3, 1, 6),   // another tag
                            Exif(false, 0x0112, 4, 1, 6),   // a long
                            Exif(false, 0x0112, 3, 2, 6)};  // two values
  const Bytes good = Exif(6);
  for (size_t size = 0; size + 6 < good.size(); ++size) {  // up to the value
    odd.emplace_back(good.begin(), good.begin() + long(size));
  }
  Bytes far = good;
  far[4] = far[5] = far[6] = far[7] = 0xff;  // the directory at 2^32 - 1
  odd.push_back(far);
  Bytes wrong_order = good;
  wrong_order[0] = 'X';
  odd.push_back(wrong_order);
  for (const Bytes& exif : odd) ExpectShown(PngWith(png, exif), shown);

  Bytes first = good;  // the only entry, and the first one
  first[10] = 1;
  first.erase(first.begin() + 12, first.begin() + 24);
  EXPECT_EQ(DecodeImage(PngWith(png, first), "", {})->extents, (ImageExtents{kWidth, kHeight, 3}));

  Bytes beyond = good;  // the entry after the last one that the directory counts
  beyond[10] = 1;
  ExpectShown(PngWith(png, beyond), shown);
  // The first chunk counts, before the pixels or after them.
  ExpectShown(PngWith(PngWith(png, good, /*late=*/true), Exif(1)), shown);

  Bytes wrong_sum = PngWith(png, good);
  wrong_sum[33 + 8 + good.size()] ^= 1;
  ExpectShown(wrong_sum, shown);
  Bytes behind = png;
  const Bytes more = PngWith(png, good);
  behind.insert(behind.end(), more.begin() + 33, more.end());
  ExpectShown(behind, shown);
  Bytes jpeg = EncodeJpeg(kHeight, kWidth, shown);
  const Bytes segment = JpegWith(jpeg, good);
  jpeg.insert(jpeg.end(), segment.begin() + 2, segment.end());
  ExpectShown(jpeg, shown, 12);
}

}  // namespace
}  // namespace dtnn
