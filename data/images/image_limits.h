// What the decoders check before they take memory.

#ifndef DTNN_DATA_IMAGES_IMAGE_LIMITS_H_
#define DTNN_DATA_IMAGES_IMAGE_LIMITS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "tensor/errors.h"

namespace dtnn {

// What a JPEG can have at most, and as far as resize.h goes.
inline constexpr int64_t kMaxImageSide = int64_t{1} << 16;

// height and width come from a header and fit 32 bits.
inline absl::Status CheckImageExtents(int64_t height, int64_t width, int64_t max_pixels) {
  if (height < 1 || width < 1) {
    return InvalidArgument("has no pixels: ", width, " x ", height);
  }
  if (height > kMaxImageSide || width > kMaxImageSide) {
    return InvalidArgument("claims ", width, " x ", height, " pixels; no side may have more than ",
                           kMaxImageSide);
  }
  if (height > max_pixels / width) {
    return InvalidArgument("claims ", width, " x ", height, " pixels, more than the ", max_pixels,
                           " that are allowed");
  }
  return absl::OkStatus();
}

// Before decoding: no file so short holds so much.
inline absl::Status ShorterThanItsPixels(int64_t height, int64_t width, uint64_t bytes) {
  return DataLoss("claims ", width, " x ", height, " pixels, which a file of ", bytes,
                  " bytes cannot contain; is the download complete?");
}

}  // namespace dtnn

#endif  // DTNN_DATA_IMAGES_IMAGE_LIMITS_H_
