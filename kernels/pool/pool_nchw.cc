// Pooling of planes (NCHW). Forward, vectors run along a row of outputs, and masks keep out what
// lies outside the image. Gradients go back one by one.

#include <algorithm>
#include <array>
#include <cassert>
#include <limits>
#include <type_traits>
#include <vector>

#include "kernels/pool/pool_pass.h"

// Everything up to HWY_ONCE is compiled once per instruction set.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/pool/pool_nchw.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/elementwise/transform-inl.h"
#include "kernels/pool/argmax-inl.h"
#include "kernels/simd/unroll.h"

#ifndef DTNN_KERNELS_POOL_POOL_NCHW_CC_
#define DTNN_KERNELS_POOL_POOL_NCHW_CC_
namespace dtnn::pool {

// One channel of one image; argmax are null where there are none.
template <typename T, typename W>
struct Plane {
  T *in, *out;
  W* argmax;
};

// Calls use(plane) for planes [begin, end).
template <typename T, typename W, class Use>
void ForEachPlane(const Pass& pass, int64_t begin, int64_t end, const Use& use) {
  const Geometry& g = pass.geometry;
  const int64_t inputs = g.rows.extent * g.columns.extent;
  const int64_t outputs = g.rows.outputs() * g.columns.outputs();
  int64_t image = begin / g.channels, channel = begin % g.channels;
  for (int64_t number = begin; number < end; ++number) {
    W* argmax = static_cast<W*>(pass.argmax);
    if (argmax != nullptr) argmax += number * outputs;
    use(Plane<T, W>{pass.in.At<T>(image, channel * inputs),
                    pass.out.At<T>(image, channel * outputs), argmax});
    if (++channel < g.channels) continue;
    channel = 0;
    ++image;
  }
}

}  // namespace dtnn::pool
#endif  // DTNN_KERNELS_POOL_POOL_NCHW_CC_

HWY_BEFORE_NAMESPACE();
namespace dtnn::pool {
namespace HWY_NAMESPACE {
namespace {

using dtnn::HWY_NAMESPACE::ForEachVector;

// row[at + lane * stride] in the lanes in which that lies in [0, width), `fill` in the others.
// Reads nothing outside the row. kStride 0: any.
template <int64_t kStride, class D, typename T>
HWY_INLINE hn::Vec<D> LoadTap(D d, const T* row, int64_t at, int64_t stride, int64_t width,
                              Wide<T> fill) {
  const int64_t lanes = int64_t(hn::Lanes(d));
#if DTNN_MASKED_MEMORY && HWY_TARGET != HWY_SCALAR
  if constexpr (std::is_same_v<T, hn::TFromD<D>>) {
    const auto load = [&](int64_t from) HWY_ATTR {
      const hn::RebindToUnsigned<D> positions;  // those before the row are very large
      using U = hn::TFromD<decltype(positions)>;
      const auto inside = hn::Lt(hn::Iota(positions, U(from)), hn::Set(positions, U(width)));
      const auto mask = hn::RebindMask(d, inside);
      return hn::IfThenElse(mask, hn::MaskedLoad(mask, d, row + from), hn::Set(d, fill));
    };
    if constexpr (kStride == 1) return load(at);
    if constexpr (kStride == 2) return hn::ConcatEven(d, load(at + lanes), load(at));
  }
#endif
  HWY_ALIGN Wide<T> values[hn::MaxLanes(d)];
  for (int64_t lane = 0; lane < lanes; ++lane, at += stride) {
    values[lane] = at >= 0 && at < width ? Wide<T>(row[at]) : fill;
  }
  return hn::Load(d, values);
}

// The windows of the `outputs` outputs from `first` on, the lanes of a vector.
template <class D>
struct LaneWindows {
  Numbers<D> tap;
  hn::Vec<D> divisor;
  int64_t origin;      // where the first one would begin, were there no edge
  int64_t begin, end;  // the taps that lie inside the image in any lane

  LaneWindows(D d, const Axis& columns, int64_t first, int64_t outputs) {
    using T = hn::TFromD<D>;
    const hn::RebindToUnsigned<D> numbers;
    using U = hn::TFromD<decltype(numbers)>;
    HWY_ALIGN U taps[hn::MaxLanes(d)] = {};
    HWY_ALIGN T divisors[hn::MaxLanes(d)] = {};
    const Window* windows = columns.windows.data() + first;
    for (int64_t i = 0; i < outputs; ++i) {
      taps[i] = U(windows[i].tap);
      divisors[i] = T(windows[i].divisor);
    }
    tap = hn::Load(numbers, taps);
    divisor = hn::Load(d, divisors);
    origin = columns.OriginOf(windows[0]);
    begin = windows[outputs - 1].tap;
    end = windows[0].tap + windows[0].count;
  }
};

// Calls tap(vector, number) for the taps in some rows of the windows, in order; taps outside the
// image are `fill`. kTaps: of a row; 0: any.
template <int64_t kTaps, int64_t kStride, class D, class Tap, typename T>
HWY_INLINE void ForEachTap(D d, const Geometry& g, const Window& rows, const LaneWindows<D>& lanes,
                           const T* plane, Wide<T> fill, const Tap& tap) {
  const int64_t begin = kTaps > 0 ? 0 : lanes.begin, end = kTaps > 0 ? kTaps : lanes.end;
  const int64_t stride = g.columns.stride, width = g.columns.extent;
  for (int64_t kh = 0; kh < rows.count; ++kh) {
    const T* row = plane + (rows.first + kh * g.rows.dilation) * width;
    const int64_t number = (rows.tap + kh) * g.columns.taps;
    DTNN_UNROLL(3)
    for (int64_t kw = begin; kw < end; ++kw) {
      const int64_t at = lanes.origin + kw * g.columns.dilation;
      tap(LoadTap<kStride>(d, row, at, stride, width, fill), number + kw);
    }
  }
}

template <typename T, typename W, int64_t kTaps, int64_t kStride>
void ForwardPlane(const Geometry& g, const Plane<T, W>& plane) {
  const int64_t width = g.columns.outputs();
  ForEachVector<T>(width, [&](const auto& access, int64_t i) HWY_ATTR {
    const auto d = access.d;
    const LaneWindows lanes(d, g.columns, i, int64_t(access.count()));
    int64_t output = i;
    for (const Window& rows : g.rows.windows) {
      if (g.average) {
        auto sum = hn::Zero(d);
        const int64_t most = kTaps > 0 ? kPartOfMean / kTaps : rows.count;
        for (int64_t kh = 0; kh < rows.count; kh += most) {
          const Window some = {.first = rows.first + kh * g.rows.dilation,
                               .tap = rows.tap + kh,
                               .count = std::min(most, rows.count - kh)};
          auto part = hn::Zero(d);
          int64_t elements = 0;
          ForEachTap<kTaps, kStride>(d, g, some, lanes, static_cast<const T*>(plane.in), Wide<T>(0),
                                     [&](auto v, int64_t) HWY_ATTR {
                                       part = hn::Add(part, v);
                                       if (kTaps > 0 || ++elements < kPartOfMean) return;
                                       sum = hn::Add(sum, part);
                                       part = hn::Zero(d);
                                       elements = 0;
                                     });
          sum = hn::Add(sum, part);
        }
        const auto divisor = hn::Mul(lanes.divisor, hn::Set(d, Wide<T>(rows.divisor)));
        access.Store(hn::Div(sum, divisor), plane.out + output);
      } else {
        Leader best(d, hn::Add(lanes.tap, NumberVector(d, rows.tap * g.columns.taps)));
        ForEachTap<kTaps, kStride>(d, g, rows, lanes, static_cast<const T*>(plane.in),
                                   -std::numeric_limits<Wide<T>>::infinity(),
                                   [&](auto v, int64_t number)
                                       HWY_ATTR { best.Consider(d, v, number); });
        access.Store(best.value, plane.out + output);
        if (plane.argmax != nullptr) {
          StoreFirstArgmax(d, best.number, access.count(), plane.argmax + output);
        }
      }
      output += width;
    }
  });
}

template <typename T, typename W>
void ForwardPlanes(const Pass& pass, int64_t begin, int64_t end) {
  const Geometry& g = pass.geometry;
  const int64_t taps = g.columns.taps, stride = g.columns.stride;
  ForEachPlane<T, W>(pass, begin, end, [&](const Plane<T, W>& plane) {
    if (taps == 2 && stride == 2) return ForwardPlane<T, W, 2, 2>(g, plane);
    if (taps == 3 && stride == 1) return ForwardPlane<T, W, 3, 1>(g, plane);
    if (taps == 3 && stride == 2) return ForwardPlane<T, W, 3, 2>(g, plane);
    ForwardPlane<T, W, 0, 0>(g, plane);
  });
}

void Forward(const Pass& pass, int64_t begin, int64_t end) {
  WithTypes(pass, [&]<typename T, typename W>() { ForwardPlanes<T, W>(pass, begin, end); });
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace dtnn::pool
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dtnn::pool {
namespace {

HWY_EXPORT(Forward);

// Calls element(index in the plane) for those of a window, in order.
template <class Element>
void ForEachElement(const Geometry& g, const Window& rows, const Window& columns,
                    const Element& element) {
  for (int64_t kh = 0; kh < rows.count; ++kh) {
    const int64_t first = (rows.first + kh * g.rows.dilation) * g.columns.extent + columns.first;
    for (int64_t kw = 0; kw < columns.count; ++kw) element(first + kw * g.columns.dilation);
  }
}

template <typename T>
void MeanPlane(const Geometry& g, const T* x, T* y) {
  for (const Window& rows : g.rows.windows) {
    for (const Window& columns : g.columns.windows) {
      Wide<T> sum = 0, part = 0;
      int64_t elements = 0;
      ForEachElement(g, rows, columns, [&](int64_t at) {
        part += Wide<T>(x[at]);
        if (++elements < kPartOfMean) return;
        sum += part;
        part = 0;
        elements = 0;
      });
      *y++ = T((sum + part) / Wide<T>(rows.divisor * columns.divisor));
    }
  }
}

template <typename T>
void MeanGradient(const Geometry& g, const T* dy, Wide<T>* dx) {
  for (const Window& rows : g.rows.windows) {
    for (const Window& columns : g.columns.windows) {
      const Wide<T> share = Wide<T>(*dy++) / Wide<T>(rows.divisor * columns.divisor);
      ForEachElement(g, rows, columns, [&](int64_t at) { dx[at] += share; });
    }
  }
}

// Where the taps of a whole window of a maximum lie in a plane, counted from the first one.
class TapOffsets {
 public:
  explicit TapOffsets(const Geometry& geometry) : geometry_(geometry) {
    if (geometry.average || geometry.argmax_dtype != DType::kUint8) return;  // no table
    const int64_t taps = geometry.rows.taps * geometry.columns.taps;
    assert(taps <= kMostByteTaps);
    for (int64_t i = 0; i < taps; ++i) table_[size_t(i)] = Of(i);
  }
  int64_t At(uint8_t number) const { return table_[number]; }
  int64_t At(int32_t number) const { return Of(number); }

 private:
  int64_t Of(int64_t number) const {
    const Axis &rows = geometry_.rows, &columns = geometry_.columns;
    return number / columns.taps * rows.dilation * columns.extent +
           number % columns.taps * columns.dilation;
  }
  const Geometry& geometry_;
  std::array<int64_t, 256> table_ = {};  // divisions would take longer than all else
};

template <typename T, typename W>
void MaximumGradient(const Geometry& g, const TapOffsets& offsets, const T* dy, const W* argmax,
                     Wide<T>* dx) {
  const int64_t left = g.columns.OriginOf(g.columns.windows.front());
  for (const Window& rows : g.rows.windows) {
    int64_t origin = g.rows.OriginOf(rows) * g.columns.extent + left;
    for (int64_t i = g.columns.outputs(); i > 0; --i, origin += g.columns.stride) {
      dx[origin + offsets.At(*argmax++)] += Wide<T>(*dy++);
    }
  }
}

}  // namespace

void ForwardNchw(const Pass& pass, int64_t begin, int64_t end) {
  const Geometry& g = pass.geometry;
  // Vectors need windows a fixed stride apart, and more than one in a row.
  if (!g.average || (g.columns.stride > 0 && g.columns.outputs() > 1)) {
    return HWY_DYNAMIC_DISPATCH(Forward)(pass, begin, end);
  }
  WithTypes(pass, [&]<typename T, typename W>() {
    ForEachPlane<T, W>(pass, begin, end, [&](const auto& p) { MeanPlane<T>(g, p.in, p.out); });
  });
}

void BackwardNchw(const Pass& pass, int64_t begin, int64_t end) {
  const Geometry& g = pass.geometry;
  WithTypes(pass, [&]<typename T, typename W>() {
    const TapOffsets offsets(g);
    const int64_t size = g.rows.extent * g.columns.extent;
    ForEachPlane<T, W>(pass, begin, end, [&](const Plane<T, W>& p) {
      const auto add_to = [&](Wide<T>* dx) {
        g.average ? MeanGradient<T>(g, p.out, dx)
                  : MaximumGradient<T, W>(g, offsets, p.out, p.argmax, dx);
      };
      if constexpr (std::is_same_v<T, Wide<T>>) {
        // A plane fits the cache, so that zeroing it is not another pass over memory.
        if (!pass.accumulate) std::fill_n(p.in, size, T(0));
        add_to(p.in);
      } else {
        std::vector<Wide<T>>& sums = ThreadSums<T>(size);
        add_to(sums.data());
        for (int64_t i = 0; i < size; ++i) {
          p.in[i] = T(sums[size_t(i)] + (pass.accumulate ? Wide<T>(p.in[i]) : 0));
        }
      }
    });
  });
}

}  // namespace dtnn::pool
#endif  // HWY_ONCE
