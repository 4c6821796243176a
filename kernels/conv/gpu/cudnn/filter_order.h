// Parameters between the order of axes and the types that they have and those that cuDNN computes
// with: a type of 16 bits for all operands, where images have one.

#ifndef DTNN_KERNELS_CONV_GPU_CUDNN_FILTER_ORDER_H_
#define DTNN_KERNELS_CONV_GPU_CUDNN_FILTER_ORDER_H_

#include <cstdint>

#include "kernels/conv/gpu/filter_view.h"

namespace dtnn::cudnn {

// cuDNN's: (filters, channels, kh, kw) for NCHW, (filters, kh, kw, channels) for NHWC.
template <typename T>
conv::FilterView<T> UsedFilter(T* data, const Conv2dSpec& spec) {
  const int64_t height = spec.kernel.vertical, width = spec.kernel.horizontal;
  const int64_t taps = height * width, channels = spec.channels / spec.groups;
  const bool channels_last = spec.format == TensorFormat::kNHWC;
  return {data,
          channels_last ? channels : 1,
          channels_last ? 1 : taps,
          channels * taps,
          height,
          width,
          channels,
          spec.filters};
}

// Whether a stored filter is in another order than that.
template <typename T>
bool IsReordered(const conv::FilterView<T>& stored, const Conv2dSpec& spec) {
  const conv::FilterView<T> used = UsedFilter<T>(nullptr, spec);
  return (used.filters > 1 && stored.filter != used.filter) ||
         (used.channels > 1 && stored.channel != used.channel) ||
         (used.height * used.width > 1 && stored.tap != used.tap);
}

// to = (accumulate ? to : 0) + from. A thread per element, in the order in which `counted`, which
// has no data, lies in memory.
template <typename From, typename To>
struct ReorderFilterBody {
  bool accumulate;
  conv::FilterView<const To> counted;
  conv::FilterView<const From> from;
  conv::FilterView<To> to;

  void Declare(int64_t n, gpu::Accesses& accesses) {
    accesses.Reads(from.data, n);
    accesses.Writes(to.data, n);
  }
  DTNN_HOST_DEVICE void operator()(int64_t i) const {
    const conv::FilterCell cell = counted.Cell(i);
    To* const target = to.At(cell.row, cell.column, cell.channel, cell.filter);
    const auto value = Wide<From>(*from.At(cell.row, cell.column, cell.channel, cell.filter));
    *target = To(accumulate ? Wide<To>(*target) + value : value);
  }
};

}  // namespace dtnn::cudnn

#endif  // DTNN_KERNELS_CONV_GPU_CUDNN_FILTER_ORDER_H_
