// How transformed tiles lie in memory: [element][tile][channel], so that transforms write whole
// cache lines and products read rows of channels.

#ifndef DTNN_KERNELS_CONV_WINOGRAD_LAYOUT_H_
#define DTNN_KERNELS_CONV_WINOGRAD_LAYOUT_H_

#include <cstdint>

#include "tensor/rounding.h"

namespace dtnn::conv::winograd {

inline constexpr int64_t kLineBytes = 64;

// At least so many elements that are whole cache lines.
template <typename T>
constexpr int64_t WholeLines(int64_t elements) {
  constexpr int64_t kLine = kLineBytes / int64_t(sizeof(T));
  return RoundUp(elements, kLine);
}

// The same, an odd number of lines: things at such a distance spread over all sets of a cache,
// which those at powers of two do not.
template <typename T>
constexpr int64_t OddLines(int64_t elements) {
  return WholeLines<T>(elements) | (kLineBytes / int64_t(sizeof(T)));
}

// From a row of channels to the next. Rows are neighbours in memory, so that only long powers of
// two fall into few sets.
template <typename T>
constexpr int64_t RowPitch(int64_t channels) {
  const int64_t row = WholeLines<T>(channels);
  return row * int64_t(sizeof(T)) % 1024 == 0 ? OddLines<T>(row) : row;
}

}  // namespace dtnn::conv::winograd

#endif  // DTNN_KERNELS_CONV_WINOGRAD_LAYOUT_H_
