// Images of either format as values whose channels come last, which references in plain loops use.

#ifndef DTNN_KERNELS_TESTING_CHANNELS_LAST_H_
#define DTNN_KERNELS_TESTING_CHANNELS_LAST_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tensor/format.h"
#include "tensor/tensor.h"
#include "tools/testing/tensors.h"

namespace dtnn::testing {

// `values` of (n, height, width, channels) in the order of the format; `back`: the other way.
inline std::vector<double> ReorderedImages(const ImageExtents& image, TensorFormat format,
                                           const std::vector<double>& values, bool back) {
  if (format == TensorFormat::kNHWC) return values;
  std::vector<double> reordered(values.size());
  const int64_t pixels = image.height * image.width, channels = image.channels;
  for (int64_t i = 0; i < int64_t(values.size()); ++i) {
    const int64_t c = i % channels, pixel = i / channels % pixels, n = i / channels / pixels;
    const auto other = size_t((n * channels + c) * pixels + pixel);
    reordered[back ? size_t(i) : other] = values[back ? other : size_t(i)];
  }
  return reordered;
}

// A tensor of the format, of `batch` images with these values.
inline Tensor ImagesOf(DType dtype, const ImageExtents& image, int64_t batch, TensorFormat format,
                       const std::vector<double>& values) {
  return TensorOf(dtype, SampleShape(image, format).Prepend(batch),
                  ReorderedImages(image, format, values, /*back=*/false));
}

// The values of such a tensor.
inline std::vector<double> ChannelsLast(const Tensor& tensor, const ImageExtents& image,
                                        TensorFormat format) {
  return ReorderedImages(image, format, Values(tensor, format), /*back=*/true);
}

// Small integers, whose sums are exact in any type.
inline std::vector<double> IntegerImages(const ImageExtents& image, int64_t batch, uint64_t seed) {
  return Values(
      IntegerTensor(DType::kFloat64, SampleShape(image, TensorFormat::kNHWC).Prepend(batch), seed));
}

}  // namespace dtnn::testing

#endif  // DTNN_KERNELS_TESTING_CHANNELS_LAST_H_
