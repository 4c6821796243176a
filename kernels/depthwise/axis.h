// The geometry of a depthwise convolution along one axis, worked out once per primitive: which
// inputs a result is summed from. The forward pass and the gradient of the input differ in nothing
// else: both gather, the one from x, the other from dy.

#ifndef DTNN_KERNELS_DEPTHWISE_AXIS_H_
#define DTNN_KERNELS_DEPTHWISE_AXIS_H_

#include <cstdint>
#include <vector>

namespace dtnn::depthwise {

// Results that are computed together share each load of the filter.
inline constexpr int64_t kTile = 4;

// The taps of a result that lie inside the input: `count` of them, the first at position `in` with
// element `filter` of the kernel; the others follow at the axis' steps.
struct AxisTaps {
  int64_t count = 0, in = 0, filter = 0;
};

// `size` results, 1 or kTile, from position `out` on at Axis::out_tile; result i has the taps of
// the first, moved by i * Axis::in_tile.
struct AxisTile {
  int64_t out = 0, size = 1;
  AxisTaps taps = {};
};

struct Axis {
  int64_t in_step = 1, filter_step = 1;  // from one tap to the next
  int64_t in_tile = 1, out_tile = 1;     // from one result of a tile to the next
  std::vector<AxisTaps> taps = {};       // of each result
  std::vector<AxisTile> tiles = {};      // all results, each once
};

// y from x, and dx from dy; `in` and `out` are the extents of x and y.
Axis ForwardAxis(int64_t in, int64_t out, int64_t kernel, int64_t stride, int64_t padding,
                 int64_t dilation);
Axis BackwardAxis(int64_t in, int64_t out, int64_t kernel, int64_t stride, int64_t padding,
                  int64_t dilation);

}  // namespace dtnn::depthwise

#endif  // DTNN_KERNELS_DEPTHWISE_AXIS_H_
