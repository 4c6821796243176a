// Pixels as a PNG file, in memory.

#ifndef DTNN_DATA_IMAGES_ENCODE_PNG_H_
#define DTNN_DATA_IMAGES_ENCODE_PNG_H_

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "data/images/image.h"

namespace dtnn {

// An image of one channel (grey) or three (red, green, blue). InvalidArgument for other channels,
// and where there are not as many pixels as the extents say.
absl::StatusOr<std::vector<uint8_t>> EncodePng(const Image& image);

// An image of one channel whose values are indices of a palette of 256 colours (red, green, blue).
absl::StatusOr<std::vector<uint8_t>> EncodePng(
    const Image& image, std::span<const std::array<uint8_t, 3>, 256> palette);

}  // namespace dtnn

#endif  // DTNN_DATA_IMAGES_ENCODE_PNG_H_
