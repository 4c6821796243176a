// ImageSlice in plain loops: the definition that implementations are tested against. Images are (n,
// height, width, channels).

#ifndef DTNN_KERNELS_IMAGE_SLICE_REFERENCE_H_
#define DTNN_KERNELS_IMAGE_SLICE_REFERENCE_H_

#include <cstddef>
#include <cstdint>

#include "kernels/image_slice/image_slice.h"

namespace dtnn::reference {

// Calls f(place in x, place in y) for each element of y.
template <class F>
void ForEachSliced(const ImageSliceSpec& spec, size_t images, const F& f) {
  size_t to = 0;
  for (size_t n = 0; n < images; ++n) {
    for (int64_t h = 0; h < spec.count.vertical; ++h) {
      for (int64_t w = 0; w < spec.count.horizontal; ++w) {
        for (int64_t c = 0; c < spec.image.channels; ++c) {
          const int64_t row = spec.begin.vertical + h * spec.step.vertical,
                        column = spec.begin.horizontal + w * spec.step.horizontal,
                        pixel = (int64_t(n) * spec.image.height + row) * spec.image.width + column;
          f(size_t(pixel * spec.image.channels + c), to++);
        }
      }
    }
  }
}

}  // namespace dtnn::reference

#endif  // DTNN_KERNELS_IMAGE_SLICE_REFERENCE_H_
