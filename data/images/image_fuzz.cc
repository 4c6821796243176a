// Feeds arbitrary bytes to the image decoders: they must answer, not crash, and not take more
// memory than the limit allows.

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "data/images/image.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr int64_t kMaxPixels = 1 << 16;
  const std::span<const uint8_t> bytes(data, size);
  for (const int channels : {1, 3}) {
    const dtnn::ImageOptions options = {
        .channels = channels, .max_pixels = kMaxPixels, .shortest_side = channels == 1 ? 8 : 0};
    const absl::StatusOr<dtnn::Image> image = dtnn::DecodeImage(bytes, "input", options);
    const auto extents = dtnn::ReadImageExtents(bytes, "input", kMaxPixels);
    if (!image.ok()) continue;
    if (!extents.ok() || image->extents.channels != channels ||
        image->extents.height * image->extents.width > kMaxPixels ||
        image->pixels.size() != size_t(image->extents.height * image->extents.width * channels)) {
      std::abort();
    }
  }
  const absl::StatusOr<dtnn::Image> mask = dtnn::DecodeMask(bytes, "input", kMaxPixels);
  if (mask.ok() &&
      (mask->extents.channels != 1 || mask->extents.height * mask->extents.width > kMaxPixels ||
       mask->pixels.size() != size_t(mask->extents.height * mask->extents.width))) {
    std::abort();
  }
  return 0;
}
