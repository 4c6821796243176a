// The PNG half of image.h, over libpng. Messages do not name the file: image.h does.

#ifndef DTNN_DATA_IMAGES_PNG_H_
#define DTNN_DATA_IMAGES_PNG_H_

#include <cstdint>
#include <span>

#include "absl/status/statusor.h"
#include "data/images/image.h"

namespace dtnn {

bool LooksLikePng(std::span<const uint8_t> bytes);
absl::StatusOr<Image> DecodePng(std::span<const uint8_t> bytes, const ImageOptions& options);
// What DecodeMask gives.
absl::StatusOr<Image> DecodePngMask(std::span<const uint8_t> bytes, int64_t max_pixels);
absl::StatusOr<ImageExtents> ReadPngExtents(std::span<const uint8_t> bytes, int64_t max_pixels);

}  // namespace dtnn

#endif  // DTNN_DATA_IMAGES_PNG_H_
