#include "data/images/image_bytes.h"

#include <cstdint>
#include <vector>

#include "gtest/gtest.h"

namespace dtnn {
namespace {

template <typename T>
void ExpectEveryPixelInItsPlace(const ImageExtents& extents) {
  std::vector<uint8_t> bytes(ByteCount(extents));
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = uint8_t(i * 37 + i / 256);
  const int64_t pixels = extents.height * extents.width;
  const auto at = [&](TensorFormat format, int64_t c, int64_t p) {
    return size_t(format == TensorFormat::kNHWC ? p * extents.channels + c : c * pixels + p);
  };
  constexpr TensorFormat kFormats[] = {TensorFormat::kNHWC, TensorFormat::kNCHW};
  for (TensorFormat from : kFormats) {
    for (TensorFormat to : kFormats) {
      std::vector<T> values(bytes.size(), T(-1));
      std::vector<T> whole = values;
      ConvertImage(bytes, from, extents, to, values);
      ConvertImage(bytes, from, extents, to, whole, T(1));
      for (int64_t c = 0; c < extents.channels; ++c) {
        for (int64_t p = 0; p < pixels; ++p) {
          ASSERT_EQ(values[at(to, c, p)], T(bytes[at(from, c, p)]) * (T(1) / 255)) << c << ' ' << p;
          ASSERT_EQ(whole[at(to, c, p)], T(bytes[at(from, c, p)])) << c << ' ' << p;
        }
      }
    }
  }
}

TEST(ImageBytesTest, EveryPixelIsInItsPlace) {
  for (const ImageExtents& extents :
       {ImageExtents{1, 1, 1}, ImageExtents{3, 5, 1}, ImageExtents{1, 1, 3}, ImageExtents{4, 7, 2},
        ImageExtents{5, 6, 4}, ImageExtents{32, 32, 3}, ImageExtents{16, 32, 3},
        ImageExtents{19, 27, 3}, ImageExtents{40, 40, 5}}) {
    ExpectEveryPixelInItsPlace<float>(extents);
    ExpectEveryPixelInItsPlace<double>(extents);
  }
}

}  // namespace
}  // namespace dtnn
