// Where the pixels of an image stand in the padded one: what all implementations share.

#ifndef DTNN_KERNELS_PAD_PLACES_H_
#define DTNN_KERNELS_PAD_PLACES_H_

#include <cstdint>

#include "kernels/pad/pad.h"
#include "tensor/host_device.h"

namespace dtnn {

// Indices begin .. end - 1.
struct PadRange {
  int64_t begin, end;
};

// One axis: `extent` indices of x, `before` and `after` them.
struct PadAxis {
  int64_t extent, before, after;
  PadMode mode;

  DTNN_HOST_DEVICE int64_t padded() const { return before + extent + after; }
  // The index of x that stands at index i of y; -1: the constant.
  DTNN_HOST_DEVICE int64_t From(int64_t i) const {
    i -= before;
    if (i >= 0 && i < extent) return i;
    if (mode == PadMode::kConstant) return -1;
    if (mode == PadMode::kReflect) return i < 0 ? -i : 2 * (extent - 1) - i;
    return i < 0 ? 0 : extent - 1;
  }
  static constexpr int kRanges = 3;
  // Where index i of x stands in y: in three ranges, some of which are empty.
  DTNN_HOST_DEVICE PadRange To(int64_t i, int range) const {
    const int64_t place = before + i, last = before + extent - 1, to_end = extent - 1 - i;
    if (range == 0) return {place, place + 1};
    if (mode == PadMode::kReflect) {
      const bool is_mirrored = range == 1 ? i >= 1 && i <= before : to_end >= 1 && to_end <= after;
      const int64_t mirrored = range == 1 ? before - i : last + to_end;
      return {mirrored, mirrored + (is_mirrored ? 1 : 0)};
    }
    if (mode == PadMode::kEdge && range == 1 && i == 0) return {0, before};
    if (mode == PadMode::kEdge && range == 2 && to_end == 0) return {last + 1, last + 1 + after};
    return {0, 0};
  }
  // Whether it stands at one place alone.
  DTNN_HOST_DEVICE bool IsOnce(int64_t i) const {
    const PadRange before_it = To(i, 1), after_it = To(i, 2);
    return before_it.begin == before_it.end && after_it.begin == after_it.end;
  }
};

inline PadAxis RowsOf(const PadSpec& spec) {
  return {spec.image.height, spec.top, spec.bottom, spec.mode};
}
inline PadAxis ColumnsOf(const PadSpec& spec) {
  return {spec.image.width, spec.left, spec.right, spec.mode};
}

// `small` is x or dx, `large` y or dy.
absl::Status CheckPadCall(const PadSpec& spec, Device device, const Tensor& small,
                          const Tensor& large);

}  // namespace dtnn

#endif  // DTNN_KERNELS_PAD_PLACES_H_
