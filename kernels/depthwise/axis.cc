#include "kernels/depthwise/axis.h"

#include <algorithm>
#include <numeric>

namespace dtnn::depthwise {
namespace {

int64_t CeilDiv(int64_t a, int64_t b) { return a > 0 ? (a + b - 1) / b : 0; }  // b > 0; at least 0

bool Continues(const AxisTaps& first, const AxisTaps& taps, int64_t distance) {
  if (taps.count != first.count) return false;
  return first.count == 0 || (taps.filter == first.filter && taps.in == first.in + distance);
}

void DivideIntoTiles(Axis& axis) {
  const int64_t results = int64_t(axis.taps.size());
  std::vector<bool> done(axis.taps.size());
  for (int64_t o = 0; o < results; ++o) {
    if (done[size_t(o)]) continue;
    AxisTile tile = {o, kTile, axis.taps[size_t(o)]};
    for (int64_t i = 1; i < kTile && tile.size > 1; ++i) {
      const int64_t next = o + i * axis.out_tile;
      const bool joins = next < results && !done[size_t(next)] &&
                         Continues(tile.taps, axis.taps[size_t(next)], i * axis.in_tile);
      if (!joins) tile.size = 1;
    }
    for (int64_t i = 0; i < tile.size; ++i) done[size_t(o + i * axis.out_tile)] = true;
    axis.tiles.push_back(tile);
  }
}

}  // namespace

Axis ForwardAxis(int64_t in, int64_t out, int64_t kernel, int64_t stride, int64_t padding,
                 int64_t dilation) {
  Axis axis;
  axis.in_step = dilation;
  axis.in_tile = stride;
  for (int64_t o = 0; o < out; ++o) {
    const int64_t origin = o * stride - padding;
    const int64_t begin = CeilDiv(-origin, dilation);
    const int64_t end = std::min(kernel, CeilDiv(in - origin, dilation));
    axis.taps.push_back(begin < end ? AxisTaps{end - begin, origin + begin * dilation, begin}
                                    : AxisTaps());
  }
  DivideIntoTiles(axis);
  return axis;
}

// Result i takes dy at (i + padding - k * dilation) / stride for the k that divide: every
// (stride / gcd)-th, each of which moves by dilation / gcd.
Axis BackwardAxis(int64_t in, int64_t out, int64_t kernel, int64_t stride, int64_t padding,
                  int64_t dilation) {
  const int64_t common = std::gcd(stride, dilation);
  Axis axis;
  axis.filter_step = stride / common;
  axis.in_step = -(dilation / common);
  axis.out_tile = stride;
  for (int64_t i = 0; i < in; ++i) {
    const int64_t most = i + padding;
    int64_t k = CeilDiv(most - stride * (out - 1), dilation);
    const int64_t end = std::min(kernel, most / dilation + 1);
    const int64_t tried = std::min(end, k + axis.filter_step);
    while (k < tried && (most - k * dilation) % stride != 0) ++k;
    axis.taps.push_back(k < tried ? AxisTaps{(end - k + axis.filter_step - 1) / axis.filter_step,
                                             (most - k * dilation) / stride, k}
                                  : AxisTaps());
  }
  DivideIntoTiles(axis);
  return axis;
}

}  // namespace dtnn::depthwise
