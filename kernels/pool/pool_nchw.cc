// Pooling of planes (NCHW, or NHWC with one channel): vectors run along a row of outputs, or along
// a plane where outputs lie where inputs do. Where the horizontal stride is 1, masks keep the
// padding out; where it is 2, windows at the edges go element by element, and so do all windows of
// other strides.

#include <algorithm>
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
#include "kernels/pool/pool_dense-inl.h"
#include "kernels/pool/pool_same-inl.h"
#include "kernels/pool/pool_stride2-inl.h"
#include "kernels/pool/run-inl.h"

#ifndef DTNN_KERNELS_POOL_POOL_NCHW_CC_
#define DTNN_KERNELS_POOL_POOL_NCHW_CC_
namespace dtnn {

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
void PoolOne(const PoolPass& pass, const Plane<T>& plane, int64_t output, const Taps& rows) {
  const Taps columns = ColumnTaps(pass.spec, output % pass.out_width);
  if (pass.average()) {
    T sum = 0;
    ForEachElement(pass.spec, rows, columns, [&](int64_t at, int64_t) { sum += plane.in[at]; });
    plane.out[output] = sum / T(rows.count() * columns.count());
    return;
  }
  int64_t winner = -1;
  T best = 0;
  ForEachElement(pass.spec, rows, columns, [&](int64_t at, int64_t number) {
    if (winner >= 0 && !(plane.in[at] > best) && !std::isnan(plane.in[at])) return;
    best = plane.in[at];
    winner = number;
  });
  plane.out[output] = best;
  if (pass.winners != nullptr) {
    static_cast<W*>(pass.winners)[plane.winners + output] = W(winner);
  }
}

// The outputs of a row, [begin, end), that vectors may compute: all taps lie inside the row, and so
// does what a vector of pairs (stride 2) reads besides.
struct VectorColumns {
  static constexpr int64_t kWorthwhile = 4;  // fewer go faster one by one
  int64_t begin = 0, end = 0;

  explicit VectorColumns(const PoolPass& pass) {
    const PoolSpec& s = pass.spec;
    const int64_t stride = s.stride.horizontal, padding = s.padding.horizontal;
    if (stride > 2) return;
    begin = std::min(pass.out_width, (padding + stride - 1) / stride);
    const int64_t reach = s.dilation.horizontal * (s.window.horizontal - 1) + stride - 1;
    const int64_t room = s.width - 1 - reach + padding;  // of the last window's origin
    end = std::min(pass.out_width, room < 0 ? 0 : room / stride + 1);
    if (end < begin + kWorthwhile) end = begin;
  }
};

// One window that is the whole plane.
inline bool IsGlobal(const PoolPass& pass) {
  const PoolSpec& s = pass.spec;
  return s.window == Pair(s.height, s.width) && s.padding == Pair(0) && s.dilation == Pair(1);
}

// Where the elements of a window lie, counted from its origin.
class TapOffsets {
 public:
  explicit TapOffsets(const PoolSpec& spec) : spec_(spec) {
    if (spec.WinnerDType() != DType::kUint8) return;
    for (int64_t i = 0; i < spec.window.vertical * spec.window.horizontal; ++i) table_[i] = Of(i);
  }
  int64_t At(uint8_t number) const { return table_[number]; }
  int64_t At(int32_t number) const { return Of(number); }

 private:
  int64_t Of(int64_t number) const {
    return number / spec_.window.horizontal * spec_.dilation.vertical * spec_.width +
           number % spec_.window.horizontal * spec_.dilation.horizontal;
  }
  const PoolSpec& spec_;
  int64_t table_[256];
};

template <typename T, typename W>
void MaxPlaneGradient(const PoolPass& pass, const Plane<T>& plane, const TapOffsets& offsets) {
  const PoolSpec& s = pass.spec;
  const W* winners = static_cast<const W*>(pass.winners) + plane.winners;
  const T* dy = plane.out;
  for (int64_t oh = 0; oh < pass.out_height; ++oh) {
    int64_t origin = (oh * s.stride.vertical - s.padding.vertical) * s.width - s.padding.horizontal;
    for (int64_t ow = 0; ow < pass.out_width; ++ow, origin += s.stride.horizontal) {
      plane.in[origin + offsets.At(*winners++)] += *dy++;
    }
  }
}

template <typename T>
void MeanPlaneGradient(const PoolPass& pass, const Plane<T>& plane) {
  for (int64_t output = 0; output < pass.out_height * pass.out_width; ++output) {
    const Taps rows = RowTaps(pass.spec, output / pass.out_width);
    const Taps columns = ColumnTaps(pass.spec, output % pass.out_width);
    const T share = plane.out[output] / T(rows.count() * columns.count());
    ForEachElement(pass.spec, rows, columns, [&](int64_t at, int64_t) { plane.in[at] += share; });
  }
}

}  // namespace dtnn
#endif  // DTNN_KERNELS_POOL_POOL_NCHW_CC_

HWY_BEFORE_NAMESPACE();
namespace dtnn {
namespace HWY_NAMESPACE {
namespace {

// Calls f(rows, first row) for bands of output rows whose inputs stay in the first cache.
template <typename T, class F>
HWY_INLINE void ForEachBand2x2(const PoolPass& pass, const F& f) {
  const int64_t most = std::max<int64_t>(1, 8192 / int64_t(sizeof(T)) / pass.spec.width);
  for (int64_t row = 0; row < pass.out_height; row += most) {
    f(Rows2x2{std::min(most, pass.out_height - row), pass.out_width, pass.spec.width,
              pass.average()},
      row);
  }
}

template <typename T>
void ForwardPlane2x2(const PoolPass& pass, const Plane<T>& plane) {
  ForEachBand2x2<T>(pass, [&](const Rows2x2& shape, int64_t row) HWY_ATTR {
    const int64_t at = row * pass.out_width;
    uint8_t* winners = static_cast<uint8_t*>(pass.winners);
    if (winners != nullptr) winners += plane.winners + at;
    const hn::ScalableTag<T> d;
    const T* x = plane.in + 2 * row * pass.spec.width;
#if DTNN_MASKED_MEMORY && HWY_TARGET != HWY_SCALAR
    if (2 * shape.count <= int64_t(hn::Lanes(d))) {
      return Forward2x2Narrow(d, shape, x, plane.out + at, winners);
    }
#endif
    Forward2x2<ElementPairs>(d, shape, x, plane.out + at, winners);
  });
}

template <typename T>
void BackwardPlane2x2(const PoolPass& pass, const Plane<T>& plane) {
  const int64_t width = pass.spec.width, height = pass.spec.height;
  ForEachBand2x2<T>(pass, [&](const Rows2x2& shape, int64_t row) HWY_ATTR {
    const int64_t at = row * pass.out_width;
    const uint8_t* winners = static_cast<const uint8_t*>(pass.winners);
    if (winners != nullptr) winners += plane.winners + at;
    Backward2x2<ElementPairs>(hn::ScalableTag<T>(), shape, static_cast<const T*>(plane.out) + at,
                              winners, pass.accumulate, plane.in + 2 * row * width);
  });
  if (pass.accumulate) return;
  // An odd last column, and an odd last row, lie in no window.
  for (int64_t row = 0; row < height && width % 2 == 1; ++row) plane.in[(row + 1) * width - 1] = 0;
  if (height % 2 == 1) std::fill_n(plane.in + (height - 1) * width, width, T(0));
}

// One tap of the windows from `from` on, which lie `stride` (1 or 2) apart.
template <class Access, typename T>
HWY_INLINE auto LoadTap(const Access& access, int64_t stride, const T* from) {
  if (stride == 1) return access.Load(from);
  auto even = hn::Zero(access.d), odd = even;
  LoadPairs<ElementPairs>(access, from, even, odd);
  return even;
}

// Outputs [begin, end) of the row; `origin` is where the first one's window begins, in the row of
// its first tap.
template <typename T, typename W>
HWY_INLINE void PoolVectors(const PoolPass& pass, const Taps& rows, const T* origin, int64_t count,
                            T* y, W* winners) {
  const PoolSpec& s = pass.spec;
  const int64_t stride = s.stride.horizontal, width = s.window.horizontal;
  ForEachVector<T>(count, [&](const auto& access, int64_t i) HWY_ATTR {
    const auto d = access.d;
    // A mean starts at zero, a maximum at the first tap, which is then met once more.
    auto best = pass.average() ? hn::Zero(d) : LoadTap(access, stride, origin + i * stride);
    auto winner = hn::Set(d, T(rows.begin * width));
    const T* row = origin + i * stride;
    for (int64_t kh = rows.begin; kh < rows.end; ++kh, row += s.dilation.vertical * s.width) {
      for (int64_t kw = 0; kw < width; ++kw) {
        const auto v = LoadTap(access, stride, row + kw * s.dilation.horizontal);
        if (pass.average()) {
          best = hn::Add(best, v);
          continue;
        }
        const auto better = hn::Or(hn::Gt(v, best), hn::IsNaN(v));
        best = hn::IfThenElse(better, v, best);
        winner = hn::IfThenElse(better, hn::Set(d, T(kh * width + kw)), winner);
      }
    }
    if (pass.average()) best = hn::Div(best, hn::Set(d, T(rows.count() * width)));
    access.Store(best, y + i);
    if (winners != nullptr) StoreWinners<W>(access, winner, winners, i);
  });
}

template <typename T, typename W>
void ForwardWindows(const PoolPass& pass, const Plane<T>& plane, const VectorColumns& vectors) {
  const PoolSpec& s = pass.spec;
  for (int64_t oh = 0; oh < pass.out_height; ++oh) {
    const Taps rows = RowTaps(s, oh);
    const int64_t first = oh * pass.out_width;
    for (int64_t ow = 0; ow < vectors.begin; ++ow) PoolOne<T, W>(pass, plane, first + ow, rows);
    if (vectors.end > vectors.begin) {
      const int64_t row = rows.origin + rows.begin * s.dilation.vertical;
      const int64_t column = vectors.begin * s.stride.horizontal - s.padding.horizontal;
      W* winners = static_cast<W*>(pass.winners);
      if (winners != nullptr) winners += plane.winners + first + vectors.begin;
      PoolVectors(pass, rows, static_cast<const T*>(plane.in) + row * s.width + column,
                  vectors.end - vectors.begin, plane.out + first + vectors.begin, winners);
    }
    for (int64_t ow = vectors.end; ow < pass.out_width; ++ow) {
      PoolOne<T, W>(pass, plane, first + ow, rows);
    }
  }
}

template <typename T>
void ForwardTyped(const PoolPass& pass, int64_t begin, int64_t end) {
  const bool bytes = pass.spec.WinnerDType() == DType::kUint8;
  const VectorColumns vectors(pass);
#if DTNN_MASKED_MEMORY
  if (SamePlanes<T>::Serves(pass)) return SamePlanes<T>(pass).Forward(begin, end);
  if (ServesThreeColumns(pass)) return ForwardThreeColumns<T>(pass, begin, end);
  const bool global_mean = pass.average() && IsGlobal(pass);
  if (pass.spec.stride.horizontal == 1 && pass.spec.window.horizontal <= kMostMasks && bytes &&
      !global_mean) {
    for (int64_t plane = begin; plane < end; plane += kPlanesTogether) {
      ForwardDenseWindows<T, uint8_t>(pass, plane, std::min(end, plane + kPlanesTogether));
    }
    return;
  }
#endif
  for (int64_t number = begin; number < end; ++number) {
    const Plane<T> plane(pass, number);
    if (pass.Is2x2()) {
      ForwardPlane2x2(pass, plane);
    } else if (pass.average() && IsGlobal(pass)) {
      const int64_t count = pass.spec.height * pass.spec.width;
      *plane.out = SumRun<T>(plane.in, count) / T(count);
    } else if (bytes) {
      ForwardWindows<T, uint8_t>(pass, plane, vectors);
    } else {
      ForwardWindows<T, int32_t>(pass, plane, vectors);
    }
  }
}

template <typename T>
void BackwardTyped(const PoolPass& pass, int64_t begin, int64_t end) {
#if DTNN_MASKED_MEMORY
  if (SamePlanes<T>::Serves(pass)) return SamePlanes<T>(pass).Backward(begin, end);
#endif
  const TapOffsets offsets(pass.spec);
  for (int64_t number = begin; number < end; ++number) {
    const Plane<T> plane(pass, number);
    if (pass.Is2x2()) {
      BackwardPlane2x2(pass, plane);
      continue;
    }
    // A plane fits the cache, so that zeroing it is not another pass over memory.
    if (!pass.accumulate) {
      std::memset(plane.in, 0, size_t(pass.spec.height * pass.spec.width) * sizeof(T));
    }
    if (pass.average() && IsGlobal(pass)) {
      const int64_t count = pass.spec.height * pass.spec.width;
      AddToRun<T>(*plane.out / T(count), plane.in, count);
    } else if (pass.average()) {
      MeanPlaneGradient(pass, plane);
    } else if (pass.spec.WinnerDType() == DType::kUint8) {
      MaxPlaneGradient<T, uint8_t>(pass, plane, offsets);
    } else {
      MaxPlaneGradient<T, int32_t>(pass, plane, offsets);
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
