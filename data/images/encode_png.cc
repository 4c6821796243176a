#include "data/images/encode_png.h"

#include <png.h>

#include "data/images/image_limits.h"
#include "tensor/errors.h"

namespace dtnn {

namespace {

// `palette`: null without one.
absl::StatusOr<std::vector<uint8_t>> Encode(const Image& image, png_uint_32 format,
                                            const uint8_t* palette) {
  const ImageExtents& extents = image.extents;
  const bool sides = extents.height >= 1 && extents.width >= 1 && extents.height <= kMaxImageSide &&
                     extents.width <= kMaxImageSide;
  if (!sides || int64_t(image.pixels.size()) != extents.height * extents.width * extents.channels) {
    return InvalidArgument("an image of ", extents.height, " x ", extents.width,
                           " pixels came with ", image.pixels.size(), " bytes");
  }
  png_image png = {};
  png.version = PNG_IMAGE_VERSION;
  png.height = png_uint_32(extents.height);
  png.width = png_uint_32(extents.width);
  png.format = format;
  png.colormap_entries = palette == nullptr ? 0 : 256;
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(png);
  std::vector<uint8_t> file(size);
  if (!png_image_write_to_memory(&png, file.data(), &size, /*convert_to_8_bit=*/0,
                                 image.pixels.data(), /*row_stride=*/0, palette)) {
    return absl::InternalError(StrCat("libpng: ", png.message));
  }
  file.resize(size);
  return file;
}

}  // namespace

absl::StatusOr<std::vector<uint8_t>> EncodePng(const Image& image) {
  const int64_t channels = image.extents.channels;
  if (channels != 1 && channels != 3) {
    return InvalidArgument("an image of ", channels,
                           " channels has no PNG file; expected 1 (grey) or 3 (colour)");
  }
  return Encode(image, channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB, nullptr);
}

absl::StatusOr<std::vector<uint8_t>> EncodePng(
    const Image& image, std::span<const std::array<uint8_t, 3>, 256> palette) {
  if (image.extents.channels != 1) {
    return InvalidArgument("an image of ", image.extents.channels,
                           " channels has no palette; expected 1");
  }
  return Encode(image, PNG_FORMAT_RGB_COLORMAP, palette.data()->data());
}

}  // namespace dtnn
