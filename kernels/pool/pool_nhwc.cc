// Pooling of pixels (NHWC): vectors run over the channels, or over those of two neighbours where
// these fill a vector. Outputs come from the taps of their windows, one after the other, and
// gradients go back to them the same way.

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "kernels/pool/pool_pass.h"

// Everything up to HWY_ONCE is compiled once per instruction set.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/pool/pool_nhwc.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/elementwise/transform-inl.h"
#include "kernels/pool/argmax-inl.h"
#include "kernels/simd/unroll.h"
#include "tensor/rounding.h"

#ifndef DTNN_KERNELS_POOL_POOL_NHWC_CC_
#define DTNN_KERNELS_POOL_POOL_NHWC_CC_
namespace dtnn::pool {

// The windows of a row of outputs.
struct WindowRow {
  const Geometry& geometry;
  Window rows;
  int64_t down, right;  // elements of `in` from one tap to the next
  int64_t in, out;      // pixels at which the first row of taps, and the row of outputs, begin

  WindowRow(const Pass& pass, int64_t image, int64_t row)
      : geometry(pass.geometry),
        rows(geometry.rows.windows[size_t(row)]),
        down(geometry.rows.dilation * geometry.columns.extent * pass.in.pitch),
        right(geometry.columns.dilation * pass.in.pitch),
        in((image * geometry.rows.extent + rows.first) * geometry.columns.extent),
        out((image * geometry.rows.outputs() + row) * geometry.columns.outputs()) {}

  const Window& columns(int64_t i) const { return geometry.columns.windows[size_t(i)]; }
  // How many windows from this one on have all their taps.
  int64_t WholeFrom(int64_t column) const {
    if (rows.count < geometry.rows.taps) return 0;
    int64_t end = column;
    while (end < geometry.columns.outputs() && columns(end).count == geometry.columns.taps) ++end;
    return end - column;
  }
};

// One of them. kTaps: it is whole and has as many rows and columns; 0: any.
template <int64_t kTaps>
struct PixelWindow {
  const WindowRow& row;
  int64_t column;

  int64_t height() const { return kTaps > 0 ? kTaps : row.rows.count; }
  int64_t width() const { return kTaps > 0 ? kTaps : row.columns(column).count; }
  int64_t divisor() const {
    return kTaps > 0 ? kTaps * kTaps : row.rows.divisor * row.columns(column).divisor;
  }
  int64_t Number(int64_t kh, int64_t kw) const {
    if (kTaps > 0) return kh * kTaps + kw;
    return (row.rows.tap + kh) * row.geometry.columns.taps + row.columns(column).tap + kw;
  }
};

}  // namespace dtnn::pool
#endif  // DTNN_KERNELS_POOL_POOL_NHWC_CC_

HWY_BEFORE_NAMESPACE();
namespace dtnn::pool {
namespace HWY_NAMESPACE {
namespace {

using dtnn::HWY_NAMESPACE::LoadAll;
using dtnn::HWY_NAMESPACE::StoreAll;

// Calls tap(elements from the first one, number) for the taps of the window, in order.
template <int64_t kTaps, class Tap>
HWY_INLINE void ForEachTap(const PixelWindow<kTaps>& window, const Tap& tap) {
  const int64_t down = window.row.down, right = window.row.right;
  if constexpr (kTaps > 0) {
    DTNN_UNROLL(3)
    for (int64_t kh = 0; kh < kTaps; ++kh) {
      DTNN_UNROLL(3)
      for (int64_t kw = 0; kw < kTaps; ++kw) tap(kh * down + kw * right, window.Number(kh, kw));
    }
  } else {
    for (int64_t kh = 0; kh < window.height(); ++kh) {
      for (int64_t kw = 0; kw < window.width(); ++kw) {
        tap(kh * down + kw * right, window.Number(kh, kw));
      }
    }
  }
}

// What is done with a vector of outputs at `y`, which come from windows whose first taps are at
// `x`. `in` and `out` reach the lanes there; the index of the first lane is number `at`.
template <typename W>
struct Maximum {
  W* argmax;  // may be null

  template <int64_t kTaps, class Access, typename T>
  HWY_INLINE void operator()(const PixelWindow<kTaps>& window, const Access& in, const Access& out,
                             const T* x, T* y, int64_t at) const {
    Leader best(in.d, in.Load(x), window.Number(0, 0));
    ForEachTap(window, [&](int64_t tap, int64_t number) HWY_ATTR {
      if (tap > 0) best.Consider(in.d, in.Load(x + tap), number);
    });
    out.Store(best.value, y);
    if (argmax != nullptr) StoreArgmax(in.d, best.number, argmax + at);
  }
};

struct Mean {
  template <int64_t kTaps, class Access, typename T>
  HWY_INLINE void operator()(const PixelWindow<kTaps>& window, const Access& in, const Access& out,
                             const T* x, T* y, int64_t /*at*/) const {
    auto sum = hn::Zero(in.d);
    if constexpr (kTaps > 0) {
      ForEachTap(window,
                 [&](int64_t tap, int64_t) HWY_ATTR { sum = hn::Add(sum, in.Load(x + tap)); });
    } else {
      auto part = hn::Zero(in.d);
      int64_t elements = 0;
      for (int64_t kh = 0; kh < window.height(); ++kh) {
        const T* from = x + kh * window.row.down;
        for (int64_t kw = window.width(); kw > 0; --kw, from += window.row.right) {
          part = hn::Add(part, in.Load(from));
          if (++elements < kPartOfMean) continue;
          sum = hn::Add(sum, part);
          part = hn::Zero(in.d);
          elements = 0;
        }
      }
      sum = hn::Add(sum, part);
    }
    out.Store(hn::Div(sum, hn::Set(in.d, Wide<T>(window.divisor()))), y);
  }
};

// Writes a gradient, or adds it to what is there.
template <class Access, class V, typename T>
HWY_INLINE void Put(const Access& access, bool add, V gradient, T* to) {
  access.Store(add ? hn::Add(access.Load(to), gradient) : gradient, to);
}

template <typename W>
struct MaximumGradient {
  const W* argmax;
  bool add;

  template <int64_t kTaps, class Access, typename S, typename T>
  HWY_INLINE void operator()(const PixelWindow<kTaps>& window, const Access& in, const Access& out,
                             S* dx, const T* dy, int64_t at) const {
    const auto d = in.d;
    const auto gradient = out.Load(dy);
    const auto index = LoadArgmax(d, argmax + at);
    ForEachTap(window, [&](int64_t tap, int64_t number) HWY_ATTR {
      const auto won = hn::RebindMask(d, hn::Eq(index, NumberVector(d, number)));
      Put(in, add, hn::IfThenElseZero(won, gradient), dx + tap);
    });
  }
};

struct MeanGradient {
  bool add;

  template <int64_t kTaps, class Access, typename S, typename T>
  HWY_INLINE void operator()(const PixelWindow<kTaps>& window, const Access& in, const Access& out,
                             S* dx, const T* dy, int64_t /*at*/) const {
    const Wide<T> share = 1 / Wide<T>(window.divisor());
    const auto gradient = hn::Mul(out.Load(dy), hn::Set(in.d, share));
    ForEachTap(window, [&](int64_t tap, int64_t) HWY_ATTR { Put(in, add, gradient, dx + tap); });
  }
};

// Where the lanes of a vector lie: some channels of a pixel ...
template <class D>
using OnePixel = dtnn::HWY_NAMESPACE::Whole<D>;
#if HWY_TARGET != HWY_SCALAR
// ... or all channels, half as many as lanes, of two pixels that are `apart` elements apart.
template <class D>
struct TwoPixels {
  D d;
  int64_t apart;
  static constexpr hn::Half<D> kHalf = {};
  template <typename T>
  HWY_INLINE hn::Vec<D> Load(const T* from) const {
    return hn::Combine(d, LoadAll(kHalf, from + apart), LoadAll(kHalf, from));
  }
  template <typename T>
  HWY_INLINE void Store(hn::Vec<D> v, T* to) const {
    StoreAll(hn::LowerHalf(kHalf, v), kHalf, to);
    StoreAll(hn::UpperHalf(kHalf, v), kHalf, to + apart);
  }
};
#endif

// Runs op on channels [begin, end) of one output: on large vectors, then on smaller ones.
template <typename In, typename Out, class D, int64_t kTaps, class Op>
HWY_INLINE void RunOne(D d, const Pass& pass, const PixelWindow<kTaps>& window, int64_t begin,
                       int64_t end, const Op& op) {
  const OnePixel<D> access = {d};
  const int64_t output = window.row.out + window.column, lanes = int64_t(hn::Lanes(d));
  In* in = pass.in.At<In>(window.row.in + window.row.columns(window.column).first, 0);
  Out* out = pass.out.At<Out>(output, 0);
  for (; begin + lanes <= end; begin += lanes) {
    op(window, access, access, in + begin, out + begin, output * pass.geometry.channels + begin);
  }
  if constexpr (hn::MaxLanes(d) > 1) {
    if (begin < end) RunOne<In, Out>(hn::Half<D>(), pass, window, begin, end, op);
  }
}

// Runs op on `count` outputs from a window on that have few channels, two at a time. Says on how
// many it did.
template <typename In, typename Out, class D, int64_t kTaps, class Op>
HWY_INLINE int64_t RunPairs([[maybe_unused]] D d, [[maybe_unused]] const Pass& pass,
                            [[maybe_unused]] const PixelWindow<kTaps>& window,
                            [[maybe_unused]] int64_t count, [[maybe_unused]] const Op& op) {
#if HWY_TARGET != HWY_SCALAR
  if constexpr (hn::MaxLanes(d) > 1) {
    const int64_t channels = pass.geometry.channels, stride = pass.geometry.columns.stride;
    if (2 * channels < int64_t(hn::Lanes(d))) {
      return RunPairs<In, Out>(hn::Half<D>(), pass, window, count, op);
    }
    if (2 * channels > int64_t(hn::Lanes(d)) || stride == 0) return 0;
    const TwoPixels<D> in = {d, stride * pass.in.pitch}, out = {d, pass.out.pitch};
    const int64_t output = window.row.out + window.column;
    const int64_t input = window.row.in + window.row.columns(window.column).first;
    int64_t i = 0;
    for (; i + 2 <= count; i += 2) {
      op(window, in, out, pass.in.At<In>(input + i * stride, 0), pass.out.At<Out>(output + i, 0),
         (output + i) * channels);
    }
    return i;
  }
#endif
  return 0;
}

// Runs op on channels [begin, end) of a row of outputs.
template <typename In, typename Out, int64_t kTaps, class Op>
void RunRow(const Pass& pass, const WindowRow& row, int64_t begin, int64_t end, const Op& op) {
  const hn::ScalableTag<Wide<Out>> d;
  const int64_t columns = pass.geometry.columns.outputs();
  for (int64_t i = 0; i < columns; ++i) {
    const int64_t whole_end = i + row.WholeFrom(i);
    if (kTaps > 0) i += RunPairs<In, Out>(d, pass, PixelWindow<kTaps>{row, i}, whole_end - i, op);
    for (; i < whole_end; ++i) RunOne<In, Out>(d, pass, PixelWindow<kTaps>{row, i}, begin, end, op);
    if (i < columns) RunOne<In, Out>(d, pass, PixelWindow<0>{row, i}, begin, end, op);
  }
}
template <typename In, typename Out, typename W, class Op>
void RunRow(const Pass& pass, int64_t image, int64_t row, int64_t begin, int64_t end,
            const Op& op) {
  const WindowRow windows(pass, image, row);
  if constexpr (std::is_same_v<W, uint8_t>) {  // the others are large
    const Geometry& g = pass.geometry;
    const int64_t taps = g.rows.taps == g.columns.taps ? g.rows.taps : 0;
    if (taps == 2) return RunRow<In, Out, 2>(pass, windows, begin, end, op);
    if (taps == 3) return RunRow<In, Out, 3>(pass, windows, begin, end, op);
  }
  RunRow<In, Out, 0>(pass, windows, begin, end, op);
}

template <typename T, typename W>
void ForwardRows(const Pass& pass, int64_t begin, int64_t end) {
  const int64_t rows = pass.geometry.rows.outputs(), channels = pass.geometry.channels;
  for (int64_t row = begin; row < end; ++row) {
    const int64_t image = row / rows;
    if (pass.geometry.average) {
      RunRow<T, T, W>(pass, image, row % rows, 0, channels, Mean());
    } else {
      const Maximum<W> maximum = {static_cast<W*>(pass.argmax)};
      RunRow<T, T, W>(pass, image, row % rows, 0, channels, maximum);
    }
  }
}

// Channels [begin, end) of rows [from, to), numbered through all images.
template <typename T>
void ZeroRows(const Pass& pass, int64_t from, int64_t to, int64_t begin, int64_t end) {
  const int64_t columns = pass.geometry.columns.extent;
  const bool dense = pass.in.pitch == end - begin;
  const int64_t runs = dense ? 1 : (to - from) * columns;
  const int64_t size = dense ? (to - from) * columns * pass.in.pitch : end - begin;
  for (int64_t run = 0; run < runs; ++run) {
    std::memset(pass.in.At<T>(from * columns + run, begin), 0, size_t(size) * sizeof(T));
  }
}

// Channels [begin, end) of an image. Rows are zeroed just before the first window that holds them,
// so that they are in cache then.
template <typename In, typename Out, typename W>
void BackwardImage(const Pass& pass, int64_t image, int64_t begin, int64_t end) {
  const Axis& rows = pass.geometry.rows;
  const bool add = pass.accumulate || !pass.tiled;
  int64_t zeroed = add && !pass.accumulate ? 0 : rows.extent;
  const auto zero_up_to = [&](int64_t row) {
    if (row <= zeroed) return;
    ZeroRows<In>(pass, image * rows.extent + zeroed, image * rows.extent + row, begin, end);
    zeroed = row;
  };
  for (int64_t row = 0; row < rows.outputs(); ++row) {
    const Window& window = rows.windows[size_t(row)];
    zero_up_to(window.first + (window.count - 1) * rows.dilation + 1);
    if (pass.geometry.average) {
      RunRow<In, Out, W>(pass, image, row, begin, end, MeanGradient{add});
    } else {
      const MaximumGradient<W> gradient = {static_cast<const W*>(pass.argmax), add};
      RunRow<In, Out, W>(pass, image, row, begin, end, gradient);
    }
  }
  zero_up_to(rows.extent);
}

// The same where several windows may hold an element, and adding in its type would round each time.
template <typename T, typename W>
void BackwardImageInSums(const Pass& pass, int64_t image, int64_t begin, int64_t end) {
  using dtnn::HWY_NAMESPACE::Copied;
  using dtnn::HWY_NAMESPACE::Sum;
  using dtnn::HWY_NAMESPACE::Transform;
  const Geometry& g = pass.geometry;
  const int64_t pixels = g.rows.extent * g.columns.extent;
  const int64_t outputs = image * g.rows.outputs() * g.columns.outputs();
  const int64_t channels = end - begin;
  std::vector<Wide<T>>& sums = ThreadSums<T>(pixels * channels);
  Pass summed = pass;  // of these channels of this image
  summed.in = {sums.data(), channels};
  summed.out.data = pass.out.At<T>(outputs, begin);
  if (!g.average) summed.argmax = static_cast<W*>(pass.argmax) + outputs * g.channels + begin;
  summed.accumulate = true;
  BackwardImage<Wide<T>, T, W>(summed, 0, 0, channels);
  for (int64_t i = 0; i < pixels; ++i) {
    T* const dx = pass.in.At<T>(image * pixels + i, begin);
    const Wide<T>* const sum = sums.data() + i * channels;
    pass.accumulate ? Transform(Sum(), channels, dx, static_cast<const T*>(dx), sum)
                    : Transform(Copied(), channels, dx, sum);
  }
}

template <typename T, typename W>
void BackwardBlocks(const Pass& pass, int64_t begin, int64_t end) {
  const int64_t channels = pass.geometry.channels;
  const int64_t blocks = CeilDiv(channels, pass.block);
  for (int64_t unit = begin; unit < end; ++unit) {
    const int64_t first = unit % blocks * pass.block, last = std::min(channels, first + pass.block);
    if (sizeof(T) < sizeof(Wide<T>) && !pass.tiled) {
      BackwardImageInSums<T, W>(pass, unit / blocks, first, last);
    } else {
      BackwardImage<T, T, W>(pass, unit / blocks, first, last);
    }
  }
}

void Forward(const Pass& pass, int64_t begin, int64_t end) {
  WithTypes(pass, [&]<typename T, typename W>() { ForwardRows<T, W>(pass, begin, end); });
}
void Backward(const Pass& pass, int64_t begin, int64_t end) {
  WithTypes(pass, [&]<typename T, typename W>() { BackwardBlocks<T, W>(pass, begin, end); });
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace dtnn::pool
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dtnn::pool {

HWY_EXPORT(Forward);
HWY_EXPORT(Backward);

void ForwardNhwc(const Pass& pass, int64_t begin, int64_t end) {
  HWY_DYNAMIC_DISPATCH(Forward)(pass, begin, end);
}
void BackwardNhwc(const Pass& pass, int64_t begin, int64_t end) {
  HWY_DYNAMIC_DISPATCH(Backward)(pass, begin, end);
}

}  // namespace dtnn::pool
#endif  // HWY_ONCE
