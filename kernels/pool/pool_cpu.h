// What the CPU implementation of Pool shares between its files: a pass over images, and where the
// windows lie. For pool.cc and pool_*.cc only.

#ifndef DTNN_KERNELS_POOL_POOL_CPU_H_
#define DTNN_KERNELS_POOL_POOL_CPU_H_

#include <algorithm>
#include <cstdint>
#include <memory>

#include "kernels/elementwise/operands.h"
#include "kernels/pool/pool.h"

namespace dtnn {

std::unique_ptr<Pool> CreatePoolCpu(const PoolSpec& spec);

struct PoolPass {
  PoolSpec spec;
  int64_t out_height = 0, out_width = 0;
  bool disjoint = false;      // no two windows share an element
  Operand in = {}, out = {};  // x, y or dx, dy; the pitch is from pixel to pixel or image to image
  void* winners = nullptr;
  bool accumulate = false;

  bool average() const { return spec.kind == PoolKind::kAverage; }
  // The commonest pooling has a path of its own.
  bool Is2x2() const {
    return spec.window == Pair(2) && spec.stride == Pair(2) && spec.padding == Pair(0) &&
           spec.dilation == Pair(1);
  }
  // So does the commonest one with windows that overlap.
  bool Is3x3() const {
    return spec.window == Pair(3) && spec.stride == Pair(1) && spec.dilation == Pair(1);
  }
};

// One channel of one image.
template <typename T>
struct Plane {
  T *in, *out;
  int64_t winners;  // where those of the plane begin

  Plane(const PoolPass& pass, int64_t number) {
    const int64_t image = number / pass.spec.channels, channel = number % pass.spec.channels;
    in = pass.in.At<T>(image, channel * pass.spec.height * pass.spec.width);
    out = pass.out.At<T>(image, channel * pass.out_height * pass.out_width);
    winners = number * pass.out_height * pass.out_width;
  }
};

// The elements of a window along one axis that lie inside the image: tap k of [begin, end) is at
// origin + k * dilation.
struct Taps {
  int64_t begin, end, origin;
  int64_t count() const { return end - begin; }
};

inline int64_t Quotient(int64_t a, int64_t b) { return b == 1 ? a : a / b; }  // 1 is the rule

inline Taps TapsOf(int64_t output, int64_t window, int64_t stride, int64_t padding,
                   int64_t dilation, int64_t extent) {
  const int64_t origin = output * stride - padding;
  const int64_t begin = origin >= 0 ? 0 : Quotient(-origin + dilation - 1, dilation);
  const int64_t end =
      origin >= extent ? 0 : std::min(window, Quotient(extent - 1 - origin, dilation) + 1);
  return {begin, std::max(begin, end), origin};
}
inline Taps RowTaps(const PoolSpec& s, int64_t output) {
  return TapsOf(output, s.window.vertical, s.stride.vertical, s.padding.vertical,
                s.dilation.vertical, s.height);
}
inline Taps ColumnTaps(const PoolSpec& s, int64_t output) {
  return TapsOf(output, s.window.horizontal, s.stride.horizontal, s.padding.horizontal,
                s.dilation.horizontal, s.width);
}

// The window that holds a position, where no position lies in two; output -1: none does.
struct Holder {
  int64_t output = -1, tap = 0;
};
inline Holder HolderOf(int64_t position, int64_t window, int64_t stride, int64_t padding,
                       int64_t dilation, int64_t outputs) {
  const int64_t output = (position + padding) / stride, offset = (position + padding) % stride;
  const bool inside = offset % dilation == 0 && offset / dilation < window && output < outputs;
  return inside ? Holder{output, offset / dilation} : Holder{};
}

// A unit of work: an output row (forward; also backward for 2x2 windows with stride 2) or an input
// row (backward).
void PoolForwardNhwc(const PoolPass& pass, int64_t begin, int64_t end);
void PoolBackwardNhwc(const PoolPass& pass, int64_t begin, int64_t end);
// A unit of work is a plane: one channel of one image.
void PoolForwardNchw(const PoolPass& pass, int64_t begin, int64_t end);
void PoolBackwardNchw(const PoolPass& pass, int64_t begin, int64_t end);

}  // namespace dtnn

#endif  // DTNN_KERNELS_POOL_POOL_CPU_H_
