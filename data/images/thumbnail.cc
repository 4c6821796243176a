#include "data/images/thumbnail.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace dtnn {
namespace {

template <typename T>
Image Shrink(const T* sample, const ImageExtents& extents, TensorFormat format,
             int64_t most_pixels) {
  const int64_t longest = std::max(extents.height, extents.width);
  const int64_t step = (longest + most_pixels - 1) / most_pixels;
  Image image = {.extents = {(extents.height + step - 1) / step, (extents.width + step - 1) / step,
                             extents.channels == 3 ? 3 : 1},
                 .pixels = {}};
  const auto at = [&](int64_t y, int64_t x, int64_t channel) {
    return double(format == TensorFormat::kNHWC
                      ? sample[(y * extents.width + x) * extents.channels + channel]
                      : sample[(channel * extents.height + y) * extents.width + x]);
  };
  std::vector<double> values;
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (int64_t y = 0; y < extents.height; y += step) {
    for (int64_t x = 0; x < extents.width; x += step) {
      for (int64_t channel = 0; channel < image.extents.channels; ++channel) {
        const double value = at(y, x, channel);
        values.push_back(value);
        if (!std::isfinite(value)) continue;
        low = std::min(low, value);
        high = std::max(high, value);
      }
    }
  }
  const double scale = high > low ? 255 / (high - low) : 0;
  for (const double value : values) {
    const double byte = std::isfinite(value) ? std::round((value - low) * scale) : 0;
    image.pixels.push_back(uint8_t(std::clamp(byte, 0.0, 255.0)));
  }
  return image;
}

}  // namespace

bool HoldsImages(const Tensor& x) {
  const bool floating = x.dtype() == DType::kFloat32 || x.dtype() == DType::kFloat64;
  return floating && x.shape().rank() == 4 && x.dense();
}

Image Thumbnail(const Tensor& x, int64_t index, TensorFormat format, int64_t most_pixels) {
  const Shape sample{x.shape()[1], x.shape()[2], x.shape()[3]};
  const ImageExtents extents = ExtentsOf(sample, format);
  return DispatchFloating(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    return Shrink(x.data<T>() + index * sample.NumElements(), extents, format, most_pixels);
  });
}

}  // namespace dtnn
