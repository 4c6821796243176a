// Pad in plain loops and double precision: the definition that implementations are tested against.
// Images are (n, height, width, channels).

#ifndef DTNN_KERNELS_PAD_REFERENCE_H_
#define DTNN_KERNELS_PAD_REFERENCE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/pad/pad.h"

namespace dtnn::reference {

// The index of x for each of y, -1 for the constant.
inline std::vector<int64_t> PadIndices(int64_t extent, int64_t before, int64_t after,
                                       PadMode mode) {
  std::vector<int64_t> indices;
  for (int64_t i = -before; i < extent + after; ++i) {
    int64_t from = i;
    if (i < 0) from = mode == PadMode::kReflect ? -i : mode == PadMode::kEdge ? 0 : -1;
    if (i >= extent) {
      from = mode == PadMode::kReflect ? extent - 2 - (i - extent)
             : mode == PadMode::kEdge  ? extent - 1
                                       : -1;
    }
    indices.push_back(from);
  }
  return indices;
}

// Calls f(place in x, place in y), the former -1 for the constant.
template <class F>
void ForEachPadded(const PadSpec& spec, size_t images, const F& f) {
  const auto rows = PadIndices(spec.image.height, spec.top, spec.bottom, spec.mode),
             columns = PadIndices(spec.image.width, spec.left, spec.right, spec.mode);
  int64_t to = 0;
  for (size_t n = 0; n < images; ++n) {
    for (const int64_t row : rows) {
      for (const int64_t column : columns) {
        for (int64_t c = 0; c < spec.image.channels; ++c) {
          const int64_t pixel = (int64_t(n) * spec.image.height + row) * spec.image.width + column;
          f(row < 0 || column < 0 ? -1 : pixel * spec.image.channels + c, size_t(to++));
        }
      }
    }
  }
}

}  // namespace dtnn::reference

#endif  // DTNN_KERNELS_PAD_REFERENCE_H_
