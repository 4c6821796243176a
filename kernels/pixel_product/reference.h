// PixelProduct in plain loops and double precision: the definition that implementations are tested
// against.

#ifndef DTNN_KERNELS_PIXEL_PRODUCT_REFERENCE_H_
#define DTNN_KERNELS_PIXEL_PRODUCT_REFERENCE_H_

#include <cstddef>
#include <vector>

#include "kernels/pixel_product/pixel_product.h"

namespace dtnn::reference {

struct PixelProductLoops {
  const PixelProductSpec& spec;
  size_t samples;

  size_t heads = size_t(spec.heads), of_x = size_t(spec.x.height * spec.x.width),
         of_y = size_t(spec.y.height * spec.y.width), depth = size_t(spec.x.channels) / heads;

  // The place of column `c` of head `h` of a pixel, of images with `pixels` pixels and `columns`
  // channels in each head.
  size_t At(size_t n, size_t h, size_t pixel, size_t c, size_t pixels, size_t columns) const {
    const size_t channel = h * columns + c, channels = heads * columns;
    return spec.format == TensorFormat::kNHWC ? (n * pixels + pixel) * channels + channel
                                              : (n * channels + channel) * pixels + pixel;
  }
  // Calls f(place in x, place in y, place in s) for each term of each sum.
  template <class F>
  void ForEachTerm(const F& f) const {
    for (size_t n = 0; n < samples; ++n) {
      for (size_t h = 0; h < heads; ++h) {
        for (size_t p = 0; p < of_x; ++p) {
          for (size_t q = 0; q < of_y; ++q) {
            for (size_t d = 0; d < depth; ++d) {
              f(At(n, h, p, d, of_x, depth), At(n, h, q, d, of_y, depth),
                At(n, h, p, q, of_x, of_y));
            }
          }
        }
      }
    }
  }

  using Doubles = std::vector<double>;
  void Scores(const Doubles& x, const Doubles& y, Doubles& s) const {
    ForEachTerm([&](size_t i, size_t j, size_t k) { s[k] += spec.factor * x[i] * y[j]; });
  }
  void Weigh(const Doubles& s, const Doubles& y, Doubles& x) const {
    ForEachTerm([&](size_t i, size_t j, size_t k) { x[i] += spec.factor * s[k] * y[j]; });
  }
  void Gather(const Doubles& s, const Doubles& x, Doubles& y) const {
    ForEachTerm([&](size_t i, size_t j, size_t k) { y[j] += spec.factor * s[k] * x[i]; });
  }
};

}  // namespace dtnn::reference

#endif  // DTNN_KERNELS_PIXEL_PRODUCT_REFERENCE_H_
