#include "data/images/encode_png.h"

#include <png.h>

#include "data/images/image_limits.h"
#include "tensor/errors.h"

namespace dtnn {

absl::StatusOr<std::vector<uint8_t>> EncodePng(const Image& image) {
  const ImageExtents& extents = image.extents;
  if (extents.channels != 1 && extents.channels != 3) {
    return InvalidArgument("an image of ", extents.channels,
                           " channels has no PNG file; expected 1 (grey) or 3 (colour)");
  }
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
  png.format = extents.channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(png);
  std::vector<uint8_t> file(size);
  if (!png_image_write_to_memory(&png, file.data(), &size, /*convert_to_8_bit=*/0,
                                 image.pixels.data(), /*row_stride=*/0, /*colormap=*/nullptr)) {
    return absl::InternalError(StrCat("libpng: ", png.message));
  }
  file.resize(size);
  return file;
}

}  // namespace dtnn
