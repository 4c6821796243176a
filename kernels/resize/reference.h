// Resizing in plain loops and double precision: the definition that implementations are tested
// against, in both directions.

#ifndef DTNN_KERNELS_RESIZE_REFERENCE_H_
#define DTNN_KERNELS_RESIZE_REFERENCE_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "kernels/resize/resize.h"

namespace dtnn::reference {

// Calls use(element of x, element of y, factor) for all that y is made of; elements are numbered as
// in dense tensors.
template <class Use>
void ForEachResized(const ResizeSpec& s, Use&& use) {
  struct Position {
    int64_t first, second;
    double fraction;
  };
  const auto position = [&](int64_t i, int64_t in, int64_t out) -> Position {
    if (s.mode == ResizeMode::kNearest) return {i * in / out, i * in / out, 0};
    double p = std::max(0.0, (double(i) + 0.5) * double(in) / double(out) - 0.5);
    if (s.align_corners) p = out == 1 ? 0 : double(i) * double(in - 1) / double(out - 1);
    const auto first = int64_t(std::floor(p));
    return {std::min(first, in - 1), std::min(first + 1, in - 1), p - double(first)};
  };
  const auto index = [&](int64_t n, int64_t h, int64_t w, int64_t c, int64_t height,
                         int64_t width) {
    return s.format == TensorFormat::kNHWC ? ((n * height + h) * width + w) * s.channels + c
                                           : ((n * s.channels + c) * height + h) * width + w;
  };
  for (int64_t n = 0; n < s.batch; ++n) {
    for (int64_t h = 0; h < s.out_height; ++h) {
      for (int64_t w = 0; w < s.out_width; ++w) {
        for (int64_t c = 0; c < s.channels; ++c) {
          const Position row = position(h, s.height, s.out_height);
          const Position column = position(w, s.width, s.out_width);
          const int64_t to = index(n, h, w, c, s.out_height, s.out_width);
          const auto from = [&](int64_t r, int64_t q) {
            return index(n, r, q, c, s.height, s.width);
          };
          use(from(row.first, column.first), to, (1 - row.fraction) * (1 - column.fraction));
          use(from(row.first, column.second), to, (1 - row.fraction) * column.fraction);
          use(from(row.second, column.first), to, row.fraction * (1 - column.fraction));
          use(from(row.second, column.second), to, row.fraction * column.fraction);
        }
      }
    }
  }
}

inline std::vector<double> ResizeForward(const ResizeSpec& s, const std::vector<double>& x) {
  std::vector<double> y(size_t(s.OutputShape().NumElements()));
  ForEachResized(s, [&](int64_t from, int64_t to, double factor) {
    if (factor != 0) y[size_t(to)] += factor * x[size_t(from)];
  });
  return y;
}

inline std::vector<double> ResizeBackward(const ResizeSpec& s, const std::vector<double>& dy) {
  std::vector<double> dx(size_t(s.InputShape().NumElements()));
  ForEachResized(s, [&](int64_t from, int64_t to, double factor) {
    if (factor != 0) dx[size_t(from)] += factor * dy[size_t(to)];
  });
  return dx;
}

}  // namespace dtnn::reference

#endif  // DTNN_KERNELS_RESIZE_REFERENCE_H_
