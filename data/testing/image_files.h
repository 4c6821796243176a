// Small JPEG and PNG files for tests, written by the libraries that read them.

#ifndef DTNN_DATA_TESTING_IMAGE_FILES_H_
#define DTNN_DATA_TESTING_IMAGE_FILES_H_

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace dtnn::testing {

enum class JpegKind { kGrey, kRgb, kAdobeCmyk, kYcck };

struct JpegFile {
  JpegKind kind = JpegKind::kRgb;
  int quality = 100;
  bool progressive = false;
};

// `samples`: (height, width, 1, 3 or 4 by kind), inks of CMYK as they are stored (inverted). Colour
// is not subsampled.
std::vector<uint8_t> EncodeJpeg(int height, int width, std::span<const uint8_t> samples,
                                const JpegFile& file = {});

struct PngFile {
  int color_type = 2;  // PNG's numbers: 0 grey, 2 RGB, 3 palette, 4 grey with alpha, 6 RGBA
  int bit_depth = 8;   // 1 to 8 for palettes and grey, or 16
  bool interlaced = false;
  std::vector<std::array<uint8_t, 3>> palette = {};
};

// `rows`: the rows as PNG stores them, unfiltered (16 bits are big-endian).
std::vector<uint8_t> EncodePng(int height, int width, std::span<const uint8_t> rows,
                               const PngFile& file = {});

// (height, width, channels): smooth, so that a JPEG of it is close to it, and different everywhere.
std::vector<uint8_t> SmoothPixels(int height, int width, int channels, int seed = 0);
// The same value everywhere.
std::vector<uint8_t> FlatJpeg(int height, int width, std::array<uint8_t, 3> rgb);

}  // namespace dtnn::testing

#endif  // DTNN_DATA_TESTING_IMAGE_FILES_H_
