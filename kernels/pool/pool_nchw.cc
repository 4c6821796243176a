// Pooling of planes (NCHW, or NHWC with one channel): 2x2 windows in vectors along the row, others
// element by element.

#include <cmath>
#include <cstring>

#include "kernels/pool/pool_cpu.h"

// Everything up to HWY_ONCE is compiled once per instruction set.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/pool/pool_nchw.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/elementwise/transform-inl.h"
#include "kernels/pool/pool_2x2-inl.h"

#ifndef DTNN_KERNELS_POOL_POOL_NCHW_CC_
#define DTNN_KERNELS_POOL_POOL_NCHW_CC_
namespace dtnn {

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

// Calls f(output number, row taps, column taps) for the windows of a plane.
template <class F>
void ForEachWindow(const PoolPass& pass, const F& f) {
  for (int64_t oh = 0; oh < pass.out_height; ++oh) {
    const Taps rows = RowTaps(pass.spec, oh);
    for (int64_t ow = 0; ow < pass.out_width; ++ow) {
      f(oh * pass.out_width + ow, rows, ColumnTaps(pass.spec, ow));
    }
  }
}

// Calls f(index in the plane, number in the window) for the elements of a window, in order.
template <class F>
void ForEachElement(const PoolSpec& s, const Taps& rows, const Taps& columns, const F& f) {
  for (int64_t kh = rows.begin; kh < rows.end; ++kh) {
    const int64_t row = (rows.origin + kh * s.dilation.vertical) * s.width + columns.origin;
    for (int64_t kw = columns.begin; kw < columns.end; ++kw) {
      f(row + kw * s.dilation.horizontal, kh * s.window.horizontal + kw);
    }
  }
}

template <typename T, typename W>
void MaxPlane(const PoolPass& pass, const Plane<T>& plane) {
  W* winners = static_cast<W*>(pass.winners);
  ForEachWindow(pass, [&](int64_t output, const Taps& rows, const Taps& columns) {
    int64_t winner = -1;
    T best = 0;
    ForEachElement(pass.spec, rows, columns, [&](int64_t at, int64_t number) {
      if (winner >= 0 && !(plane.in[at] > best) && !std::isnan(plane.in[at])) return;
      best = plane.in[at];
      winner = number;
    });
    plane.out[output] = best;
    if (winners != nullptr) winners[plane.winners + output] = W(winner);
  });
}

template <typename T>
void MeanPlane(const PoolPass& pass, const Plane<T>& plane) {
  ForEachWindow(pass, [&](int64_t output, const Taps& rows, const Taps& columns) {
    T sum = 0;
    ForEachElement(pass.spec, rows, columns, [&](int64_t at, int64_t) { sum += plane.in[at]; });
    plane.out[output] = sum / T(rows.count() * columns.count());
  });
}

template <typename T, typename W>
void MaxPlaneGradient(const PoolPass& pass, const Plane<T>& plane) {
  const PoolSpec& s = pass.spec;
  const W* winners = static_cast<const W*>(pass.winners) + plane.winners;
  for (int64_t output = 0; output < pass.out_height * pass.out_width; ++output) {
    const int64_t number = winners[output];
    const int64_t row = output / pass.out_width * s.stride.vertical - s.padding.vertical +
                        number / s.window.horizontal * s.dilation.vertical;
    const int64_t column = output % pass.out_width * s.stride.horizontal - s.padding.horizontal +
                           number % s.window.horizontal * s.dilation.horizontal;
    plane.in[row * s.width + column] += plane.out[output];
  }
}

template <typename T>
void MeanPlaneGradient(const PoolPass& pass, const Plane<T>& plane) {
  ForEachWindow(pass, [&](int64_t output, const Taps& rows, const Taps& columns) {
    const T share = plane.out[output] / T(rows.count() * columns.count());
    ForEachElement(pass.spec, rows, columns, [&](int64_t at, int64_t) { plane.in[at] += share; });
  });
}

}  // namespace dtnn
#endif  // DTNN_KERNELS_POOL_POOL_NCHW_CC_

HWY_BEFORE_NAMESPACE();
namespace dtnn {
namespace HWY_NAMESPACE {
namespace {

template <typename T>
void Forward2x2(const PoolPass& pass, const Plane<T>& plane) {
  const hn::ScalableTag<T> d;
  for (int64_t oh = 0; oh < pass.out_height; ++oh) {
    const T* top = plane.in + 2 * oh * pass.spec.width;
    const T* bottom = top + pass.spec.width;
    T* y = plane.out + oh * pass.out_width;
    uint8_t* winners = static_cast<uint8_t*>(pass.winners);
    if (winners != nullptr) winners += plane.winners + oh * pass.out_width;
    Row2x2<ElementPairs>(d, pass.average(), top, bottom, pass.out_width, y, winners);
  }
}

template <typename T>
void Backward2x2(const PoolPass& pass, const Plane<T>& plane) {
  const hn::ScalableTag<T> d;
  const int64_t width = pass.spec.width, count = pass.out_width;
  const size_t rest = size_t(width - 2 * count) * sizeof(T);
  for (int64_t oh = 0; oh < pass.out_height; ++oh) {
    T *top = plane.in + 2 * oh * width, *bottom = top + width;
    const T* dy = plane.out + oh * count;
    const uint8_t* winners = static_cast<const uint8_t*>(pass.winners);
    if (winners != nullptr) winners += plane.winners + oh * count;
    Row2x2Gradient<ElementPairs>(d, dy, winners, count, pass.accumulate, top, bottom);
    if (pass.accumulate) continue;
    // An odd last column lies in no window.
    std::memset(top + 2 * count, 0, rest);
    std::memset(bottom + 2 * count, 0, rest);
  }
  if (!pass.accumulate && pass.spec.height % 2 == 1) {
    std::memset(plane.in + (pass.spec.height - 1) * width, 0, size_t(width) * sizeof(T));
  }
}

template <typename T>
void ForwardTyped(const PoolPass& pass, int64_t begin, int64_t end) {
  for (int64_t number = begin; number < end; ++number) {
    const Plane<T> plane(pass, number);
    if (pass.Is2x2()) {
      Forward2x2(pass, plane);
    } else if (pass.average()) {
      MeanPlane(pass, plane);
    } else if (pass.spec.WinnerDType() == DType::kUint8) {
      MaxPlane<T, uint8_t>(pass, plane);
    } else {
      MaxPlane<T, int32_t>(pass, plane);
    }
  }
}

template <typename T>
void BackwardTyped(const PoolPass& pass, int64_t begin, int64_t end) {
  for (int64_t number = begin; number < end; ++number) {
    const Plane<T> plane(pass, number);
    if (pass.Is2x2()) {
      Backward2x2(pass, plane);
      continue;
    }
    // A plane fits the cache, so that zeroing it is not another pass over memory.
    if (!pass.accumulate) {
      std::memset(plane.in, 0, size_t(pass.spec.height * pass.spec.width) * sizeof(T));
    }
    if (pass.average()) {
      MeanPlaneGradient(pass, plane);
    } else if (pass.spec.WinnerDType() == DType::kUint8) {
      MaxPlaneGradient<T, uint8_t>(pass, plane);
    } else {
      MaxPlaneGradient<T, int32_t>(pass, plane);
    }
  }
}

void Forward(const PoolPass& pass, int64_t begin, int64_t end) {
  pass.spec.dtype == DType::kFloat32 ? ForwardTyped<float>(pass, begin, end)
                                     : ForwardTyped<double>(pass, begin, end);
}

void Backward(const PoolPass& pass, int64_t begin, int64_t end) {
  pass.spec.dtype == DType::kFloat32 ? BackwardTyped<float>(pass, begin, end)
                                     : BackwardTyped<double>(pass, begin, end);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace dtnn
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dtnn {

HWY_EXPORT(Forward);
HWY_EXPORT(Backward);

void PoolForwardNchw(const PoolPass& pass, int64_t begin, int64_t end) {
  HWY_DYNAMIC_DISPATCH(Forward)(pass, begin, end);
}
void PoolBackwardNchw(const PoolPass& pass, int64_t begin, int64_t end) {
  HWY_DYNAMIC_DISPATCH(Backward)(pass, begin, end);
}

}  // namespace dtnn
#endif  // HWY_ONCE
