// The operands of a convolution as its kernels see them: a pointer and the steps of each axis, in
// elements. One kernel thus serves views of wider tensors, groups, and where it can, both formats.

#ifndef DTNN_KERNELS_CONV_IMAGES_H_
#define DTNN_KERNELS_CONV_IMAGES_H_

#include <cstdint>

#include "kernels/conv/conv2d_spec.h"
#include "tensor/tensor.h"

namespace dtnn::conv {

// A batch of images.
template <typename T>
struct Images {
  T* data = nullptr;
  int64_t image = 0, row = 0, pixel = 0, channel = 0;  // steps

  // Null data for a tensor without memory.
  static Images Of(const Tensor& tensor, TensorFormat format) {
    if (tensor.empty()) return {};
    const Shape& shape = tensor.shape();
    T* data = reinterpret_cast<T*>(tensor.raw_data());
    if (format == TensorFormat::kNHWC) {
      const int64_t pixel = tensor.PixelPitch(), row = shape[2] * pixel;
      return {data, shape[1] * row, row, pixel, 1};
    }
    return {data, tensor.ImagePitch(), shape[3], 1, shape[2] * shape[3]};
  }

  Images From(int64_t first_image, int64_t first_channel) const {
    Images part = *this;
    if (data != nullptr) part.data += first_image * image + first_channel * channel;
    return part;
  }
  T* At(int64_t n, int64_t h) const {
    return data == nullptr ? nullptr : data + n * image + h * row;
  }
  operator Images<const T>() const { return {data, image, row, pixel, channel}; }  // NOLINT
};

// A filter: element (tap, channel of the group, filter), where tap = kh * (kernel width) + kw.
template <typename T>
struct Filter {
  T* data = nullptr;
  int64_t tap = 0, channel = 0, filter = 0;  // steps

  static Filter Of(const Tensor& tensor, const Conv2dSpec& spec) {
    const int64_t taps = spec.kernel.vertical * spec.kernel.horizontal;
    T* data = reinterpret_cast<T*>(tensor.raw_data());
    if (spec.filter_format.value_or(spec.format) == TensorFormat::kNHWC) {
      return {data, spec.filters, taps * spec.filters, 1};
    }
    return {data, 1, taps, spec.channels / spec.groups * taps};
  }

  Filter From(int64_t first_filter) const {
    return {data + first_filter * filter, tap, channel, filter};
  }
  operator Filter<const T>() const { return {data, tap, channel, filter}; }  // NOLINT
};

}  // namespace dtnn::conv

#endif  // DTNN_KERNELS_CONV_IMAGES_H_
