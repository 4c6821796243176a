// Adaptive average pooling in plain loops and double precision: the definition that implementations
// are tested against. Tensors are dense, in the format of the spec.

#ifndef DTNN_KERNELS_POOL_ADAPTIVE_REFERENCE_H_
#define DTNN_KERNELS_POOL_ADAPTIVE_REFERENCE_H_

#include <cmath>
#include <cstdint>
#include <vector>

#include "kernels/pool/adaptive_pool.h"

namespace dtnn::reference {

// Calls use(input index, output index, elements of the window) for every element of every window.
template <typename F>
void ForEachAdaptiveElement(const AdaptivePoolSpec& s, F&& use) {
  const bool nhwc = s.format == TensorFormat::kNHWC;
  const auto index = [&](int64_t n, int64_t h, int64_t w, int64_t c, int64_t height,
                         int64_t width) {
    return nhwc ? ((n * height + h) * width + w) * s.channels + c
                : ((n * s.channels + c) * height + h) * width + w;
  };
  const auto begin = [](int64_t i, int64_t in, int64_t out) {
    return int64_t(std::floor(double(i) * double(in) / double(out)));
  };
  const auto end = [](int64_t i, int64_t in, int64_t out) {
    return int64_t(std::ceil(double(i + 1) * double(in) / double(out)));
  };
  for (int64_t n = 0; n < s.batch; ++n)
    for (int64_t c = 0; c < s.channels; ++c)
      for (int64_t i = 0; i < s.out_height; ++i)
        for (int64_t j = 0; j < s.out_width; ++j) {
          const int64_t top = begin(i, s.height, s.out_height);
          const int64_t bottom = end(i, s.height, s.out_height);
          const int64_t left = begin(j, s.width, s.out_width);
          const int64_t right = end(j, s.width, s.out_width);
          for (int64_t h = top; h < bottom; ++h)
            for (int64_t w = left; w < right; ++w)
              use(index(n, h, w, c, s.height, s.width),
                  index(n, i, j, c, s.out_height, s.out_width), (bottom - top) * (right - left));
        }
}

inline std::vector<double> AdaptivePoolForward(const AdaptivePoolSpec& s,
                                               const std::vector<double>& x) {
  std::vector<double> y(size_t(s.OutputShape().NumElements()));
  ForEachAdaptiveElement(s, [&](int64_t in, int64_t out, int64_t count) {
    y[size_t(out)] += x[size_t(in)] / double(count);
  });
  return y;
}

inline std::vector<double> AdaptivePoolBackward(const AdaptivePoolSpec& s,
                                                const std::vector<double>& dy) {
  std::vector<double> dx(size_t(s.InputShape().NumElements()));
  ForEachAdaptiveElement(s, [&](int64_t in, int64_t out, int64_t count) {
    dx[size_t(in)] += dy[size_t(out)] / double(count);
  });
  return dx;
}

}  // namespace dtnn::reference

#endif  // DTNN_KERNELS_POOL_ADAPTIVE_REFERENCE_H_
