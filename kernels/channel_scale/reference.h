// ChannelScale in plain loops and double precision: the definition that implementations are tested
// against. Images are (n, h * w, c), or (n, c, h * w) where `planes`; factors (n, c).

#ifndef DTNN_KERNELS_CHANNEL_SCALE_REFERENCE_H_
#define DTNN_KERNELS_CHANNEL_SCALE_REFERENCE_H_

#include <cstddef>
#include <span>

namespace dtnn::reference {

struct ScaledImages {
  size_t n, pixels, channels;
  bool planes;
  // The place of a pixel's channel.
  size_t At(size_t i, size_t pixel, size_t c) const {
    return planes ? (i * channels + c) * pixels + pixel : (i * pixels + pixel) * channels + c;
  }
};

inline void Multiply(const ScaledImages& images, std::span<const double> x,
                     std::span<const double> s, std::span<double> y, bool accumulate) {
  for (size_t i = 0; i < images.n; ++i) {
    for (size_t pixel = 0; pixel < images.pixels; ++pixel) {
      for (size_t c = 0; c < images.channels; ++c) {
        const size_t at = images.At(i, pixel, c);
        y[at] = (accumulate ? y[at] : 0) + x[at] * s[i * images.channels + c];
      }
    }
  }
}

inline void Reduce(const ScaledImages& images, std::span<const double> x,
                   std::span<const double> dy, std::span<double> ds, bool accumulate) {
  for (size_t i = 0; i < images.n; ++i) {
    for (size_t c = 0; c < images.channels; ++c) {
      double sum = 0;
      for (size_t pixel = 0; pixel < images.pixels; ++pixel) {
        sum += x[images.At(i, pixel, c)] * dy[images.At(i, pixel, c)];
      }
      double& result = ds[i * images.channels + c];
      result = (accumulate ? result : 0) + sum;
    }
  }
}

}  // namespace dtnn::reference

#endif  // DTNN_KERNELS_CHANNEL_SCALE_REFERENCE_H_
