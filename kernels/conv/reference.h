// The definition of convolution and its gradients, as plain loops in double precision over dense
// arrays in row-major order of the spec's shapes. Slow, obvious, and what every variant is tested
// against.
//
//   y  = epilogue(sum x * w)      dx = sum dy * w      dw = sum x * dy      dbias = sum dy
//
// where each sum runs over the (input, filter, output) triples that Taps enumerates.

#ifndef DTNN_KERNELS_CONV_REFERENCE_H_
#define DTNN_KERNELS_CONV_REFERENCE_H_

#include <cstdint>
#include <vector>

#include "kernels/conv/conv2d_spec.h"

namespace dtnn::reference {

// Calls use(input index, filter index, output index) for every product of the convolution.
template <typename F>
void ForEachProduct(const Conv2dSpec& s, F&& use) {
  const int64_t oh = s.out_height(), ow = s.out_width();
  const int64_t kh = s.kernel.vertical, kw = s.kernel.horizontal;
  const int64_t in_group = s.channels / s.groups, out_group = s.filters / s.groups;
  const bool nhwc = s.format == TensorFormat::kNHWC;
  const bool filters_last = s.filter_format.value_or(s.format) == TensorFormat::kNHWC;
  for (int64_t n = 0; n < s.batch; ++n)
    for (int64_t f = 0; f < s.filters; ++f)
      for (int64_t i = 0; i < oh; ++i)
        for (int64_t j = 0; j < ow; ++j)
          for (int64_t c = 0; c < in_group; ++c)
            for (int64_t a = 0; a < kh; ++a)
              for (int64_t b = 0; b < kw; ++b) {
                const int64_t h =
                    i * s.stride.vertical - s.padding.vertical + a * s.dilation.vertical;
                const int64_t w =
                    j * s.stride.horizontal - s.padding.horizontal + b * s.dilation.horizontal;
                if (h < 0 || h >= s.height || w < 0 || w >= s.width) continue;
                const int64_t channel = f / out_group * in_group + c;
                const int64_t k = filters_last ? ((c * kh + a) * kw + b) * s.filters + f
                                               : ((f * in_group + c) * kh + a) * kw + b;
                if (nhwc) {
                  use(((n * s.height + h) * s.width + w) * s.channels + channel, k,
                      ((n * oh + i) * ow + j) * s.filters + f);
                } else {
                  use(((n * s.channels + channel) * s.height + h) * s.width + w, k,
                      ((n * s.filters + f) * oh + i) * ow + j);
                }
              }
}

// The filter that output element `i` belongs to.
inline int64_t FilterOf(const Conv2dSpec& s, int64_t i) {
  if (s.format == TensorFormat::kNHWC) return i % s.filters;
  return i / (s.out_height() * s.out_width()) % s.filters;
}

// y = relu(scale * sums + bias + addend), in which a NaN stays one; the epilogue of the spec says
// which parts apply.
inline std::vector<double> ApplyEpilogue(const Conv2dSpec& s, std::vector<double> y,
                                         const std::vector<double>& bias,
                                         const std::vector<double>& scale,
                                         const std::vector<double>& addend) {
  for (int64_t i = 0; i < int64_t(y.size()); ++i) {
    const int64_t f = FilterOf(s, i);
    if (s.epilogue.scale) y[i] *= scale[f];
    if (s.epilogue.bias) y[i] += bias[f];
    if (s.epilogue.add) y[i] += addend[i];
    if (s.epilogue.relu && y[i] < 0) y[i] = 0;
  }
  return y;
}

// The sums; ApplyEpilogue makes y of them.
inline std::vector<double> Conv2dForward(const Conv2dSpec& s, const std::vector<double>& x,
                                         const std::vector<double>& w) {
  std::vector<double> y(size_t(s.OutputShape().NumElements()));
  ForEachProduct(s, [&](int64_t in, int64_t k, int64_t out) { y[out] += x[in] * w[k]; });
  return y;
}

inline std::vector<double> Conv2dBackwardData(const Conv2dSpec& s, const std::vector<double>& dy,
                                              const std::vector<double>& w) {
  std::vector<double> dx(size_t(s.InputShape().NumElements()));
  ForEachProduct(s, [&](int64_t in, int64_t k, int64_t out) { dx[in] += dy[out] * w[k]; });
  return dx;
}

inline std::vector<double> Conv2dBackwardFilter(const Conv2dSpec& s, const std::vector<double>& x,
                                                const std::vector<double>& dy) {
  std::vector<double> dw(size_t(s.FilterShape().NumElements()));
  ForEachProduct(s, [&](int64_t in, int64_t k, int64_t out) { dw[k] += x[in] * dy[out]; });
  return dw;
}

inline std::vector<double> Conv2dBackwardBias(const Conv2dSpec& s, const std::vector<double>& dy) {
  std::vector<double> dbias(size_t(s.filters));
  for (int64_t i = 0; i < int64_t(dy.size()); ++i) dbias[FilterOf(s, i)] += dy[i];
  return dbias;
}

}  // namespace dtnn::reference

#endif  // DTNN_KERNELS_CONV_REFERENCE_H_
