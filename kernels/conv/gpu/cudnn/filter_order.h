// Filters between the order of axes that parameters have and the one that cuDNN computes with.

#ifndef DTNN_KERNELS_CONV_GPU_CUDNN_FILTER_ORDER_H_
#define DTNN_KERNELS_CONV_GPU_CUDNN_FILTER_ORDER_H_

#include <cstdint>

#include "kernels/conv/gpu/filter_view.h"
#include "kernels/conv/gpu/transposition.h"

namespace dtnn::cudnn {

// cuDNN's: (filters, channels, kh, kw) for NCHW, (filters, kh, kw, channels) for NHWC.
template <typename T>
conv::FilterView<T> UsedFilter(T* data, const Conv2dSpec& spec) {
  if (spec.format == TensorFormat::kNHWC) return conv::FilterView<T>::ChannelsLast(data, spec);
  Conv2dSpec filters_first = spec;
  filters_first.filter_format = TensorFormat::kNCHW;
  return conv::FilterView<T>::Stored(data, filters_first);
}

// Whether a stored filter is in another order than that.
inline bool IsReordered(const Conv2dSpec& spec) {
  const auto stored = conv::FilterView<float>::Stored(static_cast<float*>(nullptr), spec);
  const auto used = UsedFilter<float>(nullptr, spec);
  return (used.filters > 1 && stored.filter != used.filter) ||
         (used.channels > 1 && stored.channel != used.channel) ||
         (used.height * used.width > 1 && stored.tap != used.tap);
}

// From the stored order to cuDNN's, of a filter that is reordered.
inline conv::Transposition ToUsed(const Conv2dSpec& spec) {
  const int64_t channels = spec.channels / spec.groups;
  const int64_t taps = spec.kernel.vertical * spec.kernel.horizontal;
  if (spec.filter_format.value_or(spec.format) == TensorFormat::kNCHW) {
    return conv::Transposition::OfLast(spec.filters, channels, taps);
  }
  if (spec.format == TensorFormat::kNCHW) {
    return conv::Transposition::OfReversal(channels * taps, 1, spec.filters);
  }
  return conv::Transposition::OfReversal(channels, taps, spec.filters);
}

// to = (accumulate ? to : 0) + from, in one order. A thread per element.
template <typename From, typename To>
struct StoreFilterBody {
  bool accumulate;
  const From* from;
  To* to;

  void Declare(int64_t n, gpu::Accesses& accesses) {
    accesses.Reads(from, n);
    accesses.Writes(to, n);
  }
  DTNN_HOST_DEVICE void operator()(int64_t i) const {
    to[i] = To(accumulate ? Wide<To>(to[i]) + Wide<From>(from[i]) : Wide<From>(from[i]));
  }
};

}  // namespace dtnn::cudnn

#endif  // DTNN_KERNELS_CONV_GPU_CUDNN_FILTER_ORDER_H_
