// Where the pixels of a slice stand in the image: what all implementations share.

#ifndef DTNN_KERNELS_IMAGE_SLICE_PLACES_H_
#define DTNN_KERNELS_IMAGE_SLICE_PLACES_H_

#include <cstdint>

#include "kernels/image_slice/image_slice.h"
#include "tensor/host_device.h"

namespace dtnn {

// One axis: `count` indices of x from `begin` on, `step` apart.
struct SliceAxis {
  int64_t begin, count, step;

  // The index of x that stands at index i of y.
  DTNN_HOST_DEVICE int64_t From(int64_t i) const { return begin + i * step; }
  // Where index i of x stands in y; -1: nowhere.
  DTNN_HOST_DEVICE int64_t To(int64_t i) const {
    i -= begin;
    if (i < 0 || i % step != 0 || i / step >= count) return -1;
    return i / step;
  }
};

inline SliceAxis RowsOf(const ImageSliceSpec& spec) {
  return {spec.begin.vertical, spec.count.vertical, spec.step.vertical};
}
inline SliceAxis ColumnsOf(const ImageSliceSpec& spec) {
  return {spec.begin.horizontal, spec.count.horizontal, spec.step.horizontal};
}

// `large` is x or dx, `small` y or dy.
absl::Status CheckSliceCall(const ImageSliceSpec& spec, Device device, const Tensor& large,
                            const Tensor& small);

}  // namespace dtnn

#endif  // DTNN_KERNELS_IMAGE_SLICE_PLACES_H_
