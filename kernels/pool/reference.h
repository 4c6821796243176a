// Pooling in plain loops and double precision: the definition that implementations are tested
// against. Tensors are dense, in the format of the spec; `batch` may be smaller than the spec's.

#ifndef DTNN_KERNELS_POOL_REFERENCE_H_
#define DTNN_KERNELS_POOL_REFERENCE_H_

#include <cmath>
#include <cstdint>

#include "kernels/pool/pool.h"

namespace dtnn::reference {

// Calls window(index of the output element, number of window elements that count) and then
// element(index of the input element, number in the window) for each of those, output by output.
template <typename Window, typename Element>
void ForEachWindow(const PoolSpec& s, int64_t batch, Window window, Element element) {
  const bool nhwc = s.format == TensorFormat::kNHWC;
  const auto index = [&](int64_t n, int64_t h, int64_t w, int64_t c, int64_t height,
                         int64_t width) {
    return nhwc ? ((n * height + h) * width + w) * s.channels + c
                : ((n * s.channels + c) * height + h) * width + w;
  };
  // Elements of the image, or of the image and its padding.
  const auto for_each = [&](int64_t oh, int64_t ow, bool padded, auto f) {
    const Pair pads = padded ? s.padding : 0;
    for (int64_t kh = 0; kh < s.window.vertical; ++kh) {
      for (int64_t kw = 0; kw < s.window.horizontal; ++kw) {
        const int64_t h = oh * s.stride.vertical - s.padding.vertical + kh * s.dilation.vertical;
        const int64_t w =
            ow * s.stride.horizontal - s.padding.horizontal + kw * s.dilation.horizontal;
        if (h < -pads.vertical || h >= s.height + pads.vertical || w < -pads.horizontal ||
            w >= s.width + pads.horizontal) {
          continue;
        }
        f(h, w, kh * s.window.horizontal + kw);
      }
    }
  };
  for (int64_t n = 0; n < batch; ++n) {
    for (int64_t oh = 0; oh < s.out_height(); ++oh) {
      for (int64_t ow = 0; ow < s.out_width(); ++ow) {
        for (int64_t c = 0; c < s.channels; ++c) {
          int64_t count = 0;
          for_each(oh, ow, s.count_padding, [&](int64_t, int64_t, int64_t) { ++count; });
          window(index(n, oh, ow, c, s.out_height(), s.out_width()), count);
          for_each(oh, ow, false, [&](int64_t h, int64_t w, int64_t number) {
            element(index(n, h, w, c, s.height, s.width), number);
          });
        }
      }
    }
  }
}

// `argmax` may be null.
inline void PoolForward(const PoolSpec& spec, int64_t batch, const double* x, double* y,
                        int64_t* argmax) {
  int64_t out = 0, size = 0;
  bool first = true;
  ForEachWindow(
      spec, batch,
      [&](int64_t o, int64_t count) {
        out = o;
        size = count;
        first = true;
        y[out] = 0;
      },
      [&](int64_t in, int64_t number) {
        if (spec.kind == PoolKind::kAverage) {
          y[out] += x[in] / double(size);
        } else if (first || x[in] > y[out] || std::isnan(x[in])) {
          y[out] = x[in];
          if (argmax != nullptr) argmax[out] = number;
        }
        first = false;
      });
}

inline void PoolBackward(const PoolSpec& spec, int64_t batch, const double* dy,
                         const int64_t* argmax, double* dx, bool accumulate) {
  const int64_t size = batch * spec.height * spec.width * spec.channels;
  for (int64_t i = 0; i < size && !accumulate; ++i) dx[i] = 0;
  int64_t out = 0, window_size = 0;
  ForEachWindow(
      spec, batch,
      [&](int64_t o, int64_t count) {
        out = o;
        window_size = count;
      },
      [&](int64_t in, int64_t number) {
        if (spec.kind == PoolKind::kAverage) {
          dx[in] += dy[out] / double(window_size);
        } else if (argmax[out] == number) {
          dx[in] += dy[out];
        }
      });
}

}  // namespace dtnn::reference

#endif  // DTNN_KERNELS_POOL_REFERENCE_H_
