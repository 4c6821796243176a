// Where the windows of a pooling lie, an axis at a time: which elements of the image a window
// holds, and their numbers in it. Padding and edges are dealt with here and nowhere else: kernels
// see windows that are cut to the image.

#ifndef DTNN_KERNELS_POOL_WINDOWS_H_
#define DTNN_KERNELS_POOL_WINDOWS_H_

#include <algorithm>
#include <cstdint>
#include <vector>

namespace dtnn::pool {

// The part of a window that lies inside the image, along one axis: `count` taps from number `tap`
// on, the first of them at position `first`.
struct Window {
  int64_t first = 0, tap = 0, count = 0;
  int64_t divisor = 0;  // of a mean: the taps that it counts
};

// Outputs begin .. end - 1.
struct OutputRange {
  int64_t begin = 0, end = 0;
};

// All windows along an axis.
struct Axis {
  int64_t extent = 0;    // of the image
  int64_t taps = 0;      // of a whole window
  int64_t dilation = 1;  // elements from one tap to the next
  int64_t stride = 0;    // elements from one window to the next; 0: it varies
  std::vector<Window> windows = {};

  int64_t outputs() const { return int64_t(windows.size()); }
  // Where a window would begin, were there no edge.
  int64_t OriginOf(const Window& window) const { return window.first - window.tap * dilation; }
  // For each element, the first output whose window may hold it and the one after the last; those
  // between need not (dilation).
  std::vector<OutputRange> OutputsByElement() const {
    std::vector<OutputRange> ranges(size_t(extent), OutputRange{outputs(), 0});
    for (int64_t output = 0; output < outputs(); ++output) {
      const Window& window = windows[size_t(output)];
      for (int64_t tap = 0; tap < window.count; ++tap) {
        OutputRange& range = ranges[size_t(window.first + tap * dilation)];
        range.begin = std::min(range.begin, output);
        range.end = output + 1;
      }
    }
    return ranges;
  }
  // Whether every element lies in exactly one window.
  bool Tiled() const {
    int64_t next = 0;
    for (const Window& window : windows) {
      if (window.first != next) return false;
      next += window.count;
    }
    return next == extent && dilation == 1;
  }
};

// Window `output` of those that begin `stride` elements apart, the first of them `padding` elements
// before the image. `count_padding`: a mean counts the taps in the padding too.
inline Window WindowAt(int64_t output, int64_t extent, int64_t taps, int64_t stride,
                       int64_t padding, int64_t dilation, bool count_padding = false) {
  const int64_t origin = output * stride - padding;
  const auto taps_before = [&](int64_t edge) {  // that lie before it
    return std::min(taps, origin < edge ? (edge - 1 - origin) / dilation + 1 : 0);
  };
  const int64_t tap = origin < 0 ? (dilation - 1 - origin) / dilation : 0;
  const int64_t count = std::max<int64_t>(0, taps_before(extent) - tap);
  return {.first = origin + tap * dilation,
          .tap = tap,
          .count = count,
          .divisor = count_padding ? taps_before(extent + padding) : count};
}

}  // namespace dtnn::pool

#endif  // DTNN_KERNELS_POOL_WINDOWS_H_
