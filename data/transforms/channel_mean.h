// The mean of one channel of an image, the same in both formats.

#ifndef DTNN_DATA_TRANSFORMS_CHANNEL_MEAN_H_
#define DTNN_DATA_TRANSFORMS_CHANNEL_MEAN_H_

#include <cstdint>

#include "data/transforms/image_layout.h"
#include "data/transforms/transform.h"

namespace dtnn {

template <typename T>
double ChannelMean(const SampleImage<T>& image, int64_t channel) {
  const ImageStrides strides(image.extents, image.format);
  // Several sums, as one would make every addition wait for the one before.
  constexpr int64_t kSums = 8;
  double sums[kSums] = {};
  for (int64_t y = 0; y < image.extents.height; ++y) {
    const T* row = image.values + channel * strides.channel + y * strides.row;
    int64_t x = 0;
    for (; x + kSums <= image.extents.width; x += kSums) {
      for (int64_t i = 0; i < kSums; ++i) sums[i] += double(row[(x + i) * strides.column]);
    }
    for (; x < image.extents.width; ++x) sums[0] += double(row[x * strides.column]);
  }
  double sum = 0;
  for (double part : sums) sum += part;
  return sum / double(image.extents.height * image.extents.width);
}

}  // namespace dtnn

#endif  // DTNN_DATA_TRANSFORMS_CHANNEL_MEAN_H_
