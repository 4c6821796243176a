// Pixels as a PNG file, in memory: for pictures inside of other files.

#ifndef DTNN_DATA_IMAGES_ENCODE_PNG_H_
#define DTNN_DATA_IMAGES_ENCODE_PNG_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "data/images/image.h"

namespace dtnn {

// An image of one channel (grey) or three (red, green, blue). InvalidArgument for other channels,
// and where there are not as many pixels as the extents say.
absl::StatusOr<std::vector<uint8_t>> EncodePng(const Image& image);

}  // namespace dtnn

#endif  // DTNN_DATA_IMAGES_ENCODE_PNG_H_
