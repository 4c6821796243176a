// JPEG and PNG files decoded to bytes, told apart by their content, not their names.
//
// What comes out has 8 bits per value and one channel (grey) or three (red, green, blue), whatever
// the file holds: CMYK and YCCK are converted without a profile, palettes are looked up, 16 bits
// become 8 by rounding, alpha is dropped, colour becomes grey as Y = 0.299 R + 0.587 G + 0.114 B
// (ITU-R BT.601). Rows and columns are those that a viewer shows: an orientation in the EXIF
// metadata is applied (orientation.h). Colour profiles are not.
//
// Files are not trusted: their extents are compared with a limit, and with what so many bytes can
// hold at most, before memory is taken. A file that ends too early or whose data are damaged is
// refused, not filled up with grey. A PNG whose end alone is missing, behind all of its data, is
// whole.

#ifndef DTNN_DATA_IMAGES_IMAGE_H_
#define DTNN_DATA_IMAGES_IMAGE_H_

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "tensor/format.h"

namespace dtnn {

// Height x width of an image that is decoded unless the caller says otherwise. No side is longer
// than 65536 (image_limits.h): decoding and resizing take memory for whole rows besides.
inline constexpr int64_t kMaxImagePixels = int64_t{1} << 28;

struct ImageOptions {
  int channels = 3;  // or 1
  int64_t max_pixels = kMaxImagePixels;
  // A JPEG is decoded at 1/8, 1/4 or 1/2 of its extents (rounded up), which costs far less, where
  // both sides are still at least this long; 0: never. PNG files are always decoded in full.
  int64_t shortest_side = 0;
};

struct Image {
  ImageExtents extents;
  std::vector<uint8_t> pixels;  // (height, width, channels)
};

// `name` begins every message. InvalidArgument for what is neither JPEG nor PNG or too large,
// DataLoss for files that are cut short or damaged, Unimplemented for kinds of JPEG (lossless, 12
// bits) that the library does not decode, ResourceExhausted without memory.
absl::StatusOr<Image> DecodeImage(std::span<const uint8_t> bytes, std::string_view name,
                                  const ImageOptions& options = {});

// The classes of pixels that a PNG file holds: its grey values of up to 8 bits, or the indices of
// its palette, as the file stores them, not as a viewer shows them. One channel. Errors as above;
// InvalidArgument for colours, grey of 16 bits, alpha, and JPEG files, whose values are not exact.
absl::StatusOr<Image> DecodeMask(std::span<const uint8_t> bytes, std::string_view name,
                                 int64_t max_pixels = kMaxImagePixels);

// Only the extents of the image, from the file's header; channels are 1 for grey and 3 for all
// others.
absl::StatusOr<ImageExtents> ReadImageExtents(std::span<const uint8_t> bytes, std::string_view name,
                                              int64_t max_pixels = kMaxImagePixels);

}  // namespace dtnn

#endif  // DTNN_DATA_IMAGES_IMAGE_H_
