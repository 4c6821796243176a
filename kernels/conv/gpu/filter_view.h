// A filter as the kernels of a GPU see it: a pointer and the steps of its axes, in elements.

#ifndef DTNN_KERNELS_CONV_GPU_FILTER_VIEW_H_
#define DTNN_KERNELS_CONV_GPU_FILTER_VIEW_H_

#include <cstdint>
#include <type_traits>

#include "kernels/conv/conv2d.h"
#include "tensor/gpu/kernel.h"
#include "tensor/tensor.h"

namespace dtnn::conv {

struct FilterCell {
  int64_t row, column, channel, filter;  // the channel is the group's
};

// A filter with its steps, in any order of axes.
template <typename T>
struct FilterView {
  T* data;
  int64_t tap, channel, filter;
  int64_t height, width, channels, filters;  // extents

  // The filter that Forward and BackwardData read.
  static FilterView Of(const Tensor& tensor, const Conv2dSpec& spec, const Conv2dUse& use) {
    T* const data = static_cast<T*>(tensor.data<std::remove_const_t<T>>());
    return use.channels_last_filter ? ChannelsLast(data, spec) : Stored(data, spec);
  }
  // Its gradient, or the parameter.
  static FilterView Stored(const Tensor& tensor, const Conv2dSpec& spec) {
    return Stored(static_cast<T*>(tensor.data<std::remove_const_t<T>>()), spec);
  }
  static FilterView Stored(T* data, const Conv2dSpec& spec) {
    const int64_t height = spec.kernel.vertical, width = spec.kernel.horizontal;
    const int64_t taps = height * width, channels = spec.channels / spec.groups;
    if (spec.filter_format.value_or(spec.format) == TensorFormat::kNHWC) {
      return {data, spec.filters, taps * spec.filters, 1, height, width, channels, spec.filters};
    }
    return {data, 1, taps, channels * taps, height, width, channels, spec.filters};
  }
  // (filters, kh, kw, channels).
  static FilterView ChannelsLast(T* data, const Conv2dSpec& spec) {
    const int64_t height = spec.kernel.vertical, width = spec.kernel.horizontal;
    const int64_t channels = spec.channels / spec.groups;
    return {data, channels, 1, channels * height * width, height, width, channels, spec.filters};
  }

  DTNN_HOST_DEVICE int64_t size() const { return height * width * channels * filters; }
  DTNN_HOST_DEVICE T* At(int64_t row, int64_t column, int64_t c, int64_t f) const {
    return data + (row * width + column) * tap + c * channel + f * filter;
  }
  // The i-th element of a stored filter in memory.
  DTNN_HOST_DEVICE FilterCell Cell(int64_t i) const {
    FilterCell cell;
    const bool filters_last = filter == 1 && tap != 1;
    if (filters_last) {
      cell.filter = i % filters;
      i /= filters;
    }
    cell.column = i % width;
    i /= width;
    cell.row = i % height;
    i /= height;
    cell.channel = i % channels;
    if (!filters_last) cell.filter = i / channels;
    return cell;
  }
  void Declare(gpu::Accesses& accesses) { accesses.Reads(data, size()); }
};

}  // namespace dtnn::conv

#endif  // DTNN_KERNELS_CONV_GPU_FILTER_VIEW_H_
