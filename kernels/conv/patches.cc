#include "kernels/conv/patches.h"

#include <algorithm>

namespace dtnn::conv {

TapMap TapMap::Forward(int64_t inputs, int64_t outputs, int64_t taps, int64_t stride,
                       int64_t padding, int64_t dilation) {
  TapMap map(outputs, taps);
  for (int64_t o = 0; o < outputs; ++o) {
    for (int64_t k = 0; k < taps; ++k) {
      const int64_t i = o * stride - padding + k * dilation;
      map.index_[size_t(o * taps + k)] = i >= 0 && i < inputs ? int32_t(i) : -1;
    }
  }
  return map;
}

TapMap TapMap::Backward(int64_t inputs, int64_t outputs, int64_t taps, int64_t stride,
                        int64_t padding, int64_t dilation) {
  TapMap map(inputs, taps);
  for (int64_t i = 0; i < inputs; ++i) {
    for (int64_t k = 0; k < taps; ++k) {
      const int64_t strided = i + padding - k * dilation;
      const bool hit = strided >= 0 && strided % stride == 0 && strided / stride < outputs;
      map.index_[size_t(i * taps + k)] = hit ? int32_t(strided / stride) : -1;
    }
  }
  return map;
}

Gather Gather::Forward(const Conv2dSpec& s) {
  return {TapMap::Forward(s.height, s.out_height(), s.kernel.vertical, s.stride.vertical,
                          s.padding.vertical, s.dilation.vertical),
          TapMap::Forward(s.width, s.out_width(), s.kernel.horizontal, s.stride.horizontal,
                          s.padding.horizontal, s.dilation.horizontal),
          s.height,
          s.width,
          s.channels,
          s.out_height(),
          s.out_width(),
          s.filters};
}

Gather Gather::BackwardData(const Conv2dSpec& s) {
  return {TapMap::Backward(s.height, s.out_height(), s.kernel.vertical, s.stride.vertical,
                           s.padding.vertical, s.dilation.vertical),
          TapMap::Backward(s.width, s.out_width(), s.kernel.horizontal, s.stride.horizontal,
                           s.padding.horizontal, s.dilation.horizontal),
          s.out_height(),
          s.out_width(),
          s.filters,
          s.height,
          s.width,
          s.channels};
}

Gather Gather::Of(const Conv2dSpec& s, Direction direction) {
  return direction == Direction::kBackwardData ? BackwardData(s) : Forward(s);
}

template <typename T>
void CopyPatch(const Gather& gather, const Images<const T>& in, int64_t image, int64_t row,
               int64_t column, T* patch) {
  const int32_t* rows = gather.vertical.of(row);
  const int32_t* columns = gather.horizontal.of(column);
  const int64_t kh = gather.vertical.taps(), kw = gather.horizontal.taps(), depth = gather.depth;
  // Neighbouring taps that are neighbouring pixels are one run of memory.
  const bool run = in.pixel == depth && columns[0] >= 0 && columns[kw - 1] == columns[0] + kw - 1;
  for (int64_t a = 0; a < kh; ++a, patch += kw * depth) {
    if (rows[a] < 0) {
      std::fill_n(patch, kw * depth, T(0));
      continue;
    }
    const T* line = in.At(image, rows[a]);
    if (run) {
      const T* from = line + columns[0] * depth;
      for (int64_t j = 0; j < kw * depth; ++j) patch[j] = from[j];
      continue;
    }
    for (int64_t b = 0; b < kw; ++b) {
      T* to = patch + b * depth;
      if (columns[b] < 0) {
        for (int64_t j = 0; j < depth; ++j) to[j] = 0;
      } else {
        const T* from = line + columns[b] * in.pixel;
        for (int64_t j = 0; j < depth; ++j) to[j] = from[j];
      }
    }
  }
}

template void CopyPatch(const Gather&, const Images<const float>&, int64_t, int64_t, int64_t,
                        float*);
template void CopyPatch(const Gather&, const Images<const double>&, int64_t, int64_t, int64_t,
                        double*);

}  // namespace dtnn::conv
