#include "kernels/conv/winograd/filter_panels.h"

#include <type_traits>
#include <utility>

#include "kernels/cast/bfloat16.h"
#include "kernels/conv/geometry/transpose.h"
#include "tensor/float16.h"
#include "tensor/rounding.h"

namespace dtnn::conv::winograd {
namespace {

// Depths whose filters are brought into order together, so that lines read are used up.
constexpr int64_t kRun = 16;
// Output channels of a panel.
template <typename T>
constexpr int64_t kMostWidth = 2 * 64 / sizeof(T);

template <typename T>
void CopyRow(const T* from, int64_t count, T* to) {
  std::copy_n(from, count, to);
}
void CopyRow(const Bfloat16* from, int64_t count, float* to) { Widen(from, count, to); }

// Transpose, for at most kMostWidth rows and kRun columns.
template <typename T>
void TransposeBlock(const T* from, int64_t rows, int64_t columns, int64_t from_pitch, T* to,
                    int64_t to_pitch) {
  Transpose(from, rows, columns, from_pitch, to, to_pitch);
}
void TransposeBlock(const Bfloat16* from, int64_t rows, int64_t columns, int64_t from_pitch,
                    float* to, int64_t to_pitch) {
  float wide[kMostWidth<float> * kRun];
  for (int64_t i = 0; i < rows; ++i) Widen(from + i * from_pitch, columns, wide + i * kRun);
  Transpose(wide, rows, columns, kRun, to, to_pitch);
}

}  // namespace

template <typename T>
FilterPanels<T>::FilterPanels(Form form, int64_t channels, int64_t filters, bool backward)
    : form_(form),
      kernels_(CpuKernels<T>(form)),
      backward_(backward),
      depth_(channels),
      out_channels_(filters) {
  if (backward_) std::swap(depth_, out_channels_);
  padded_out_channels_ = RoundUp(out_channels_, kernels_.lanes);
}

template <typename T>
template <typename F>
void FilterPanels<T>::Transform(const Filter<const F>& filter, int64_t panel, int64_t first,
                                int64_t last, T* to, int64_t element) const {
  for (int64_t begin = first; begin < last; begin += kRun) {
    TransformRun(filter, panel, begin, std::min(last, begin + kRun),
                 to + (begin - first) * width(panel), element);
  }
}

template <typename T>
template <typename F>
void FilterPanels<T>::TransformRun(const Filter<const F>& filter, int64_t panel, int64_t first,
                                   int64_t last, T* to, int64_t element) const {
  T taps[kMostTaps * kMostTaps * kRun * kMostWidth<T>];  // [tap][depth][output channel]
  const int64_t depth_step = backward_ ? filter.filter : filter.channel;
  const int64_t out_step = backward_ ? filter.channel : filter.filter;
  const int64_t panel_width = width(panel), panel_channels = out_channels(panel),
                count = last - first;
  const int64_t all = int64_t(form_.taps) * form_.taps;
  if constexpr (std::is_same_v<T, F>) {
    if (out_step == 1 && panel_channels == panel_width) {
      const T* from = filter.data + first * depth_step + first_out_channel(panel);
      return kernels_.filter_to_tiles({.from = backward_ ? from + (all - 1) * filter.tap : from,
                                       .from_step = backward_ ? -filter.tap : filter.tap,
                                       .from_row = depth_step,
                                       .to = to,
                                       .to_step = element,
                                       .to_row = panel_width,
                                       .count = count,
                                       .columns = panel_width});
    }
  }
  const F* corner = filter.data + first * depth_step + first_out_channel(panel) * out_step;
  for (int64_t tap = 0; tap < all; ++tap) {
    const F* from = corner + (backward_ ? all - 1 - tap : tap) * filter.tap;
    T* dense = taps + tap * count * panel_width;
    if (depth_step == 1) {
      TransposeBlock(from, panel_channels, count, out_step, dense, panel_width);
    } else if (out_step == 1) {
      for (int64_t k = 0; k < count; ++k) {
        CopyRow(from + k * depth_step, panel_channels, dense + k * panel_width);
      }
    } else {
      for (int64_t j = 0; j < panel_channels; ++j) {
        for (int64_t k = 0; k < count; ++k) {
          dense[k * panel_width + j] = T(from[k * depth_step + j * out_step]);
        }
      }
    }
    for (int64_t k = 0; k < count; ++k) {
      std::fill(dense + k * panel_width + panel_channels, dense + (k + 1) * panel_width, T(0));
    }
  }
  kernels_.filter_to_tiles({.from = taps,
                            .from_step = count * panel_width,
                            .from_row = panel_width,
                            .to = to,
                            .to_step = element,
                            .to_row = panel_width,
                            .count = count,
                            .columns = panel_width});
}

template class FilterPanels<float>;
template class FilterPanels<double>;
#define DTNN_INSTANTIATE(T, F)                                                                    \
  template void FilterPanels<T>::Transform(const Filter<const F>&, int64_t, int64_t, int64_t, T*, \
                                           int64_t) const
DTNN_INSTANTIATE(float, float);
DTNN_INSTANTIATE(float, Bfloat16);
DTNN_INSTANTIATE(double, double);
#undef DTNN_INSTANTIATE

}  // namespace dtnn::conv::winograd
