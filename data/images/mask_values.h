// What the values of a mask mean, a PNG file with the class of each pixel, and how they look.

#ifndef DTNN_DATA_IMAGES_MASK_VALUES_H_
#define DTNN_DATA_IMAGES_MASK_VALUES_H_

#include <array>
#include <cstddef>
#include <cstdint>

namespace dtnn {

// Says that a pixel has no class; smaller values are classes.
inline constexpr uint8_t kMaskWithoutClass = 255;

// Red, green and blue of each value: the colours of PASCAL VOC's masks. Bit k of the value, from
// the lowest, gives a bit of red, green or blue in turn, the highest first, so that classes of near
// numbers have colours far apart. Class 0 is black, pixels without a class are almost white.
constexpr std::array<std::array<uint8_t, 3>, 256> MaskPalette() {
  std::array<std::array<uint8_t, 3>, 256> palette = {};
  for (size_t value = 0; value < palette.size(); ++value) {
    for (size_t bit = 0; bit < 8; ++bit) {
      palette[value][bit % 3] |= uint8_t((value >> bit & 1) << (7 - bit / 3));
    }
  }
  return palette;
}

}  // namespace dtnn

#endif  // DTNN_DATA_IMAGES_MASK_VALUES_H_
