#include "kernels/conv/winograd/filter_panels.h"

#include <utility>

#include "kernels/conv/geometry/transpose.h"
#include "tensor/rounding.h"

namespace dtnn::conv::winograd {
namespace {

// Depths whose filters are brought into order together, so that lines read are used up.
constexpr int64_t kRun = 16;

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
void FilterPanels<T>::Transform(const Filter<const T>& filter, int64_t panel, int64_t first,
                                int64_t last, T* to, int64_t element) const {
  for (int64_t begin = first; begin < last; begin += kRun) {
    TransformRun(filter, panel, begin, std::min(last, begin + kRun),
                 to + (begin - first) * width(panel), element);
  }
}

template <typename T>
void FilterPanels<T>::TransformRun(const Filter<const T>& filter, int64_t panel, int64_t first,
                                   int64_t last, T* to, int64_t element) const {
  constexpr int64_t kMostLanes = 64 / sizeof(T);
  T taps[kMostTaps * kMostTaps * kRun * 2 * kMostLanes];  // [tap][depth][output channel]
  const int64_t depth_step = backward_ ? filter.filter : filter.channel;
  const int64_t out_step = backward_ ? filter.channel : filter.filter;
  const int64_t panel_width = width(panel), panel_channels = out_channels(panel),
                count = last - first;
  const int64_t all = int64_t(form_.taps) * form_.taps;
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
  const T* corner = filter.data + first * depth_step + first_out_channel(panel) * out_step;
  for (int64_t tap = 0; tap < all; ++tap) {
    const T* from = corner + (backward_ ? all - 1 - tap : tap) * filter.tap;
    T* dense = taps + tap * count * panel_width;
    if (depth_step == 1) {
      Transpose(from, panel_channels, count, out_step, dense, panel_width);
    } else if (out_step == 1) {
      for (int64_t k = 0; k < count; ++k) {
        std::copy_n(from + k * depth_step, panel_channels, dense + k * panel_width);
      }
    } else {
      for (int64_t j = 0; j < panel_channels; ++j) {
        for (int64_t k = 0; k < count; ++k) {
          dense[k * panel_width + j] = from[k * depth_step + j * out_step];
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

}  // namespace dtnn::conv::winograd
