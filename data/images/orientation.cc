#include "data/images/orientation.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "data/images/image.h"
#include "data/images/png_chunks.h"

namespace dtnn {
namespace {

using Bytes = std::span<const uint8_t>;

// Numbers of a TIFF file, in its byte order; nullopt behind its end.
class Tiff {
 public:
  Tiff(Bytes bytes, bool big_endian) : bytes_(bytes), big_endian_(big_endian) {}

  std::optional<uint32_t> Number(uint64_t at, int size) const {
    if (at > bytes_.size() || bytes_.size() - at < uint64_t(size)) return std::nullopt;
    uint32_t value = 0;
    for (int i = 0; i < size; ++i) {
      value |= uint32_t(bytes_[size_t(at) + size_t(i)]) << 8 * (big_endian_ ? size - 1 - i : i);
    }
    return value;
  }

 private:
  const Bytes bytes_;
  const bool big_endian_;
};

bool BeginsWith(Bytes bytes, std::string_view text) {
  return bytes.size() >= text.size() && std::memcmp(bytes.data(), text.data(), text.size()) == 0;
}

int OrientationOf(Bytes tiff) {
  constexpr uint32_t kTag = 0x0112, kShort = 3;
  const bool big_endian = BeginsWith(tiff, std::string_view("MM\0*", 4));
  if (!big_endian && !BeginsWith(tiff, std::string_view("II*\0", 4))) return 1;
  const Tiff numbers(tiff, big_endian);
  const std::optional<uint32_t> directory = numbers.Number(4, 4);
  const std::optional<uint32_t> entries = directory ? numbers.Number(*directory, 2) : std::nullopt;
  for (uint64_t i = 0; entries && i < *entries; ++i) {
    const uint64_t entry = uint64_t(*directory) + 2 + 12 * i;
    const std::optional<uint32_t> tag = numbers.Number(entry, 2);
    if (!tag) return 1;
    if (*tag != kTag) continue;
    const std::optional<uint32_t> value = numbers.Number(entry + 8, 2);
    const bool plain = numbers.Number(entry + 2, 2) == kShort && numbers.Number(entry + 4, 4) == 1u;
    return plain && value && *value >= 1 && *value <= 8 ? int(*value) : 1;
  }
  return 1;
}

}  // namespace

int JpegOrientation(Bytes bytes) {
  constexpr uint8_t kApp1 = 0xe1, kScan = 0xda, kEnd = 0xd9;
  constexpr std::string_view kExif("Exif\0\0", 6);
  size_t at = 2;  // behind the marker that begins the image
  while (at + 4 <= bytes.size() && bytes[at] == 0xff) {
    const uint8_t marker = bytes[at + 1];
    if (marker == 0xff) {  // fills up
      ++at;
      continue;
    }
    if (marker == kScan || marker == kEnd) return 1;
    const size_t length = size_t(bytes[at + 2]) << 8 | bytes[at + 3];
    if (length < 2 || length > bytes.size() - at - 2) return 1;
    const Bytes segment = bytes.subspan(at + 4, length - 2);
    if (marker == kApp1 && BeginsWith(segment, kExif)) {
      return OrientationOf(segment.subspan(kExif.size()));
    }
    at += 2 + length;
  }
  return 1;
}

int PngOrientation(Bytes bytes) { return OrientationOf(LookAtPngChunks(bytes).exif); }

ImageExtents Oriented(const ImageExtents& extents, int orientation) {
  if (orientation < 5) return extents;
  return {.height = extents.width, .width = extents.height, .channels = extents.channels};
}

Image Oriented(Image image, int orientation) {
  if (orientation <= 1) return image;
  const int64_t height = image.extents.height, width = image.extents.width;
  const int64_t channels = image.extents.channels;
  // The stored pixel of the first one that is shown, and the steps to those right of and below it.
  const bool transposed = orientation >= 5;
  const bool from_right = orientation == 2 || orientation == 3 || orientation >= 7;
  const bool from_bottom =
      orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  const int64_t row = from_bottom ? -width : width, column = from_right ? -1 : 1;
  const int64_t first = (from_bottom ? (height - 1) * width : 0) + (from_right ? width - 1 : 0);
  const int64_t right = transposed ? row : column, below = transposed ? column : row;
  Image shown = {Oriented(image.extents, orientation), std::vector<uint8_t>(image.pixels.size())};
  uint8_t* to = shown.pixels.data();
  for (int64_t y = 0; y < shown.extents.height; ++y) {
    for (int64_t x = 0; x < shown.extents.width; ++x, to += channels) {
      std::copy_n(image.pixels.data() + (first + y * below + x * right) * channels, channels, to);
    }
  }
  return shown;
}

}  // namespace dtnn
