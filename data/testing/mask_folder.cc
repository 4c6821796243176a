#include "data/testing/mask_folder.h"

#include <cstddef>
#include <filesystem>

#include "data/testing/idx_files.h"
#include "data/testing/image_files.h"

namespace dtnn::testing {

std::vector<uint8_t> EncodeMask(int height, int width, std::span<const uint8_t> values) {
  return EncodePng(height, width, values, {.color_type = 0});
}

std::vector<uint8_t> ShapesMask(int side, int index) {
  std::vector<uint8_t> mask(size_t(side * side));
  for (const int shape : {1, 2}) {
    const int length = side / 2, room = side - length;
    const int top = (5 * index + 3 * shape) % room, left = (3 * index + 5 * shape) % room;
    for (int y = top; y < top + length; ++y) {
      for (int x = left; x < left + length - 1; ++x) mask[size_t(y * side + x)] = uint8_t(shape);
    }
  }
  return mask;
}

std::vector<uint8_t> ShapesImage(int side, int index) {
  const std::vector<uint8_t> mask = ShapesMask(side, index);
  std::vector<uint8_t> image;
  for (size_t i = 0; i < mask.size(); ++i) {
    for (size_t c = 0; c < 3; ++c) {
      image.push_back(uint8_t(90 * mask[i] + (7 * i + 11 * c + 13 * size_t(index)) % 40));
    }
  }
  return image;
}

void WriteMaskFolder(const std::string& root, int side, int train, int test) {
  for (int index = 0; index < train + test; ++index) {
    const std::string split = root + (index < train ? "/train" : "/test");
    const std::string name = std::to_string(index) + ".png";
    std::filesystem::create_directories(split + "/images");
    std::filesystem::create_directories(split + "/masks");
    WriteFile(split + "/images", name, EncodePng(side, side, ShapesImage(side, index)));
    WriteFile(split + "/masks", name, EncodeMask(side, side, ShapesMask(side, index)));
  }
}

}  // namespace dtnn::testing
