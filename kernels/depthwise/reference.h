// The definition of depthwise convolution and its gradients, as plain loops in double precision
// over dense arrays in row-major order of the spec's shapes. Slow, obvious, and what the
// implementation is tested against. Epilogue and bias gradient are those of
// kernels/conv/reference.h.

#ifndef DTNN_KERNELS_DEPTHWISE_REFERENCE_H_
#define DTNN_KERNELS_DEPTHWISE_REFERENCE_H_

#include <cstdint>
#include <vector>

#include "kernels/conv/conv2d.h"

namespace dtnn::reference {

// Calls use(input index, filter index, output index) for every product of the convolution.
template <typename F>
void ForEachDepthwiseProduct(const Conv2dSpec& s, F&& use) {
  const bool nhwc = s.format == TensorFormat::kNHWC;
  const auto index = [&](int64_t n, int64_t h, int64_t w, int64_t c, int64_t height,
                         int64_t width) {
    return nhwc ? ((n * height + h) * width + w) * s.channels + c
                : ((n * s.channels + c) * height + h) * width + w;
  };
  const int64_t oh = s.out_height(), ow = s.out_width();
  for (int64_t n = 0; n < s.batch; ++n)
    for (int64_t c = 0; c < s.channels; ++c)
      for (int64_t i = 0; i < oh; ++i)
        for (int64_t j = 0; j < ow; ++j)
          for (int64_t a = 0; a < s.kernel.vertical; ++a)
            for (int64_t b = 0; b < s.kernel.horizontal; ++b) {
              const int64_t h =
                  i * s.stride.vertical - s.padding.vertical + a * s.dilation.vertical;
              const int64_t w =
                  j * s.stride.horizontal - s.padding.horizontal + b * s.dilation.horizontal;
              if (h < 0 || h >= s.height || w < 0 || w >= s.width) continue;
              use(index(n, h, w, c, s.height, s.width),
                  (c * s.kernel.vertical + a) * s.kernel.horizontal + b, index(n, i, j, c, oh, ow));
            }
}

// The sums, before any epilogue.
inline std::vector<double> DepthwiseForward(const Conv2dSpec& s, const std::vector<double>& x,
                                            const std::vector<double>& w) {
  std::vector<double> y(size_t(s.OutputShape().NumElements()));
  ForEachDepthwiseProduct(s, [&](int64_t in, int64_t k, int64_t out) { y[out] += x[in] * w[k]; });
  return y;
}

inline std::vector<double> DepthwiseBackwardData(const Conv2dSpec& s, const std::vector<double>& dy,
                                                 const std::vector<double>& w) {
  std::vector<double> dx(size_t(s.InputShape().NumElements()));
  ForEachDepthwiseProduct(s, [&](int64_t in, int64_t k, int64_t out) { dx[in] += dy[out] * w[k]; });
  return dx;
}

inline std::vector<double> DepthwiseBackwardFilter(const Conv2dSpec& s,
                                                   const std::vector<double>& x,
                                                   const std::vector<double>& dy) {
  std::vector<double> dw(size_t(s.channels * s.kernel.vertical * s.kernel.horizontal));
  ForEachDepthwiseProduct(s, [&](int64_t in, int64_t k, int64_t out) { dw[k] += x[in] * dy[out]; });
  return dw;
}

}  // namespace dtnn::reference

#endif  // DTNN_KERNELS_DEPTHWISE_REFERENCE_H_
