#include "data/images/image_channels.h"

#include <cstddef>
#include <new>
#include <utility>
#include <vector>

#include "tensor/errors.h"
#include "tensor/text/counted.h"

namespace dtnn {
namespace {

uint8_t Grey(const uint8_t* rgb) {
  return uint8_t((299 * rgb[0] + 587 * rgb[1] + 114 * rgb[2] + 500) / 1000);
}

}  // namespace

absl::StatusOr<Image> WithChannels(Image image, int64_t channels) {
  const int64_t stored = image.extents.channels;
  if (stored == channels) return image;
  if (stored < 1 || stored > 4) {
    return InvalidArgument("an image of ", Counted(stored, "channel"),
                           "; expected 1 (grey), 3 (red, green, blue), or 2 or 4 (with alpha)");
  }
  Image made = {.extents = {image.extents.height, image.extents.width, channels}, .pixels = {}};
  const bool colours = stored > 2;
  try {
    made.pixels.resize(image.pixels.size() / size_t(stored) * size_t(channels));
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError("not enough memory to convert its channels");
  }
  const uint8_t* from = image.pixels.data();
  for (size_t at = 0; at < made.pixels.size(); at += size_t(channels), from += stored) {
    uint8_t* const to = made.pixels.data() + at;
    if (channels == 1) {
      to[0] = colours ? Grey(from) : from[0];
    } else {
      for (int c = 0; c < 3; ++c) to[c] = colours ? from[c] : from[0];
    }
  }
  return made;
}

}  // namespace dtnn
