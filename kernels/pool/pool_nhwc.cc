// Pooling of NHWC images: vectors run over the channels of a pixel, or over two pixels at once
// where the channels fill half a vector.

#include <cstring>

#include "kernels/pool/pool_cpu.h"

// Everything up to HWY_ONCE is compiled once per instruction set.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/pool/pool_nhwc.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/elementwise/transform-inl.h"
#include "kernels/pool/pool_2x2-inl.h"
#include "kernels/pool/pool_3x3-inl.h"
#include "kernels/pool/winners-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dtnn {
namespace HWY_NAMESPACE {
namespace {

template <typename T>
HWY_INLINE T* PixelAt(const Operand& images, int64_t width, int64_t row, int64_t column) {
  return images.At<T>(row * width + column, 0);
}

// The maximum of one window; `image` is the number of the image's first row.
template <typename T, typename W>
void MaxWindow(const PoolPass& pass, int64_t image, const Taps& rows, const Taps& columns, T* y,
               int64_t winners_at) {
  const PoolSpec& s = pass.spec;
  const int64_t first_row = image + rows.origin + rows.begin * s.dilation.vertical;
  const int64_t first_column = columns.origin + columns.begin * s.dilation.horizontal;
  const T* first = PixelAt<const T>(pass.in, s.width, first_row, first_column);
  const int64_t down = s.dilation.vertical * s.width * pass.in.pitch;
  const int64_t right = s.dilation.horizontal * pass.in.pitch;
  // What the row of windows below needs at this column; see PrefetchNextRow.
  const T* next = first + rows.count() * down;
  const int64_t next_row = s.stride.vertical > 1 ? s.width * pass.in.pitch : 0;
  const int64_t next_column = s.stride.horizontal > 1 ? pass.in.pitch : 0;
  const T first_number = T(rows.begin * s.window.horizontal + columns.begin);
  ForEachVector<T>(s.channels, [&](const auto& access, int64_t c) HWY_ATTR {
    const auto d = access.d;
    PrefetchNextRow(next + c, next + next_row + c, next_column, 0);
    auto best = access.Load(first + c);
    auto winner = hn::Set(d, first_number);
    const T* row = first + c;
    T row_number = first_number;
    for (int64_t kh = rows.count(); kh > 0; --kh) {
      const T* at = row;
      T number = row_number;
      for (int64_t kw = columns.count(); kw > 0; --kw) {
        const auto v = access.Load(at);
        const auto better = hn::Or(hn::Gt(v, best), hn::IsNaN(v));
        best = hn::IfThenElse(better, v, best);
        winner = hn::IfThenElse(better, hn::Set(d, number), winner);
        at += right;
        number += 1;
      }
      row += down;
      row_number += T(s.window.horizontal);
    }
    access.Store(best, y + c);
    if (pass.winners != nullptr) StoreWinners<W>(access, winner, pass.winners, winners_at + c);
  });
}

template <typename T>
void MeanWindow(const PoolPass& pass, int64_t image, const Taps& rows, const Taps& columns, T* y) {
  const PoolSpec& s = pass.spec;
  ForEachVector<T>(s.channels, [&](const auto& access, int64_t c) HWY_ATTR {
    auto sum = hn::Zero(access.d);
    for (int64_t kh = rows.begin; kh < rows.end; ++kh) {
      for (int64_t kw = columns.begin; kw < columns.end; ++kw) {
        const T* at =
            PixelAt<const T>(pass.in, s.width, image + rows.origin + kh * s.dilation.vertical,
                             columns.origin + kw * s.dilation.horizontal);
        sum = hn::Add(sum, access.Load(at + c));
      }
    }
    access.Store(hn::Div(sum, hn::Set(access.d, T(rows.count() * columns.count()))), y + c);
  });
}

template <typename T, typename W>
void ForwardRows(const PoolPass& pass, int64_t begin, int64_t end) {
  const PoolSpec& s = pass.spec;
  for (int64_t row = begin; row < end; ++row) {
    const int64_t image = row / pass.out_height * s.height;
    const Taps rows = RowTaps(s, row % pass.out_height);
    for (int64_t column = 0; column < pass.out_width; ++column) {
      const Taps columns = ColumnTaps(s, column);
      T* y = PixelAt<T>(pass.out, pass.out_width, row, column);
      if (pass.average()) {
        MeanWindow(pass, image, rows, columns, y);
      } else {
        MaxWindow<T, W>(pass, image, rows, columns, y,
                        (row * pass.out_width + column) * s.channels);
      }
    }
  }
}

// Pixels [begin, end), numbered through all rows of all images.
template <typename T>
void ZeroPixels(const PoolPass& pass, int64_t begin, int64_t end) {
  for (int64_t pixel = begin; pixel < end; ++pixel) {
    std::memset(pass.in.At<T>(pixel, 0), 0, size_t(pass.spec.channels) * sizeof(T));
  }
}

// Adds the gradient of one output pixel to the element `tap` of its window, or writes it there.
template <typename T, typename W>
HWY_INLINE void SpreadPixel(const PoolPass& pass, int64_t output, T scale, int64_t tap, bool add,
                            T* dx) {
  const T* dy = pass.out.At<const T>(output, 0);
  ForEachVector<T>(pass.spec.channels, [&](const auto& access, int64_t c) HWY_ATTR {
    const auto d = access.d;
    auto gradient = access.Load(dy + c);
    if (pass.average()) {
      gradient = hn::Mul(gradient, hn::Set(d, scale));
    } else {
      const auto winners = LoadWinners<W>(access, pass.winners, output * pass.spec.channels + c);
      gradient = hn::IfThenElseZero(hn::Eq(winners, hn::Set(d, T(tap))), gradient);
    }
    access.Store(add ? hn::Add(access.Load(dx + c), gradient) : gradient, dx + c);
  });
}

// Disjoint windows: every input element is written once, from the only window that may hold it.
template <typename T, typename W>
void GatherRows(const PoolPass& pass, int64_t begin, int64_t end) {
  const PoolSpec& s = pass.spec;
  for (int64_t row = begin; row < end; ++row) {
    const int64_t image = row / s.height;
    const Holder rows = HolderOf(row % s.height, s.window.vertical, s.stride.vertical,
                                 s.padding.vertical, s.dilation.vertical, pass.out_height);
    for (int64_t column = 0; column < s.width; ++column) {
      const Holder columns = HolderOf(column, s.window.horizontal, s.stride.horizontal,
                                      s.padding.horizontal, s.dilation.horizontal, pass.out_width);
      T* dx = PixelAt<T>(pass.in, s.width, row, column);
      if (rows.output >= 0 && columns.output >= 0) {
        const T elements =
            T(RowTaps(s, rows.output).count() * ColumnTaps(s, columns.output).count());
        const int64_t output =
            (image * pass.out_height + rows.output) * pass.out_width + columns.output;
        SpreadPixel<T, W>(pass, output, 1 / elements, rows.tap * s.window.horizontal + columns.tap,
                          pass.accumulate, dx);
      } else if (!pass.accumulate) {
        std::memset(dx, 0, size_t(s.channels) * sizeof(T));
      }
    }
  }
}

// The windows [begin, end) along one axis that may hold a position; with dilation not all do.
struct Holders {
  int64_t begin, end;
};
HWY_INLINE Holders HoldersOf(int64_t position, int64_t window, int64_t stride, int64_t padding,
                             int64_t dilation, int64_t outputs) {
  const int64_t at = position + padding, reach = dilation * (window - 1);
  const int64_t begin = at <= reach ? 0 : Quotient(at - reach + stride - 1, stride);
  return {begin, std::min(outputs, Quotient(at, stride) + 1)};
}

// Overlapping windows: every input element gathers from all windows that hold it.
template <typename T, typename W>
void GatherOverlapping(const PoolPass& pass, int64_t begin, int64_t end) {
  const PoolSpec& s = pass.spec;
  int64_t scaled = -1;  // the window that `scale` is of
  T scale = 1;
  for (int64_t row = begin; row < end; ++row) {
    const int64_t image = row / s.height, at_row = row % s.height + s.padding.vertical;
    const Holders rows = HoldersOf(row % s.height, s.window.vertical, s.stride.vertical,
                                   s.padding.vertical, s.dilation.vertical, pass.out_height);
    for (int64_t column = 0; column < s.width; ++column) {
      const int64_t at_column = column + s.padding.horizontal;
      const Holders columns =
          HoldersOf(column, s.window.horizontal, s.stride.horizontal, s.padding.horizontal,
                    s.dilation.horizontal, pass.out_width);
      T* dx = PixelAt<T>(pass.in, s.width, row, column);
      bool add = pass.accumulate;
      for (int64_t oh = rows.begin; oh < rows.end; ++oh) {
        const int64_t down = at_row - oh * s.stride.vertical;
        if (s.dilation.vertical > 1 && down % s.dilation.vertical != 0) continue;
        const int64_t first_tap = Quotient(down, s.dilation.vertical) * s.window.horizontal;
        for (int64_t ow = columns.begin; ow < columns.end; ++ow) {
          const int64_t right = at_column - ow * s.stride.horizontal;
          if (s.dilation.horizontal > 1 && right % s.dilation.horizontal != 0) continue;
          const int64_t output = (image * pass.out_height + oh) * pass.out_width + ow;
          if (pass.average() && output != scaled) {
            scale = 1 / T(RowTaps(s, oh).count() * ColumnTaps(s, ow).count());
            scaled = output;
          }
          SpreadPixel<T, W>(pass, output, scale, first_tap + Quotient(right, s.dilation.horizontal),
                            add, dx);
          add = true;
        }
      }
      if (!add) std::memset(dx, 0, size_t(s.channels) * sizeof(T));
    }
  }
}

// Calls f(tag) with the tag of a vector of two pixels; false where there is none.
template <typename T, class F>
HWY_INLINE bool WithHalfPixels(const PoolPass& pass, const F& f) {
  constexpr size_t kLanes = hn::MaxLanes(hn::ScalableTag<T>());
  const int64_t channels = pass.spec.channels;
  if (pass.in.pitch != channels || pass.out.pitch != channels) return false;
  if constexpr (kLanes >= 16) {
    if (channels == 8) return f(hn::CappedTag<T, 16>()), true;
  }
  if constexpr (kLanes >= 8) {
    if (channels == 4) return f(hn::CappedTag<T, 8>()), true;
  }
  if constexpr (kLanes >= 4) {
    if (channels == 2) return f(hn::CappedTag<T, 4>()), true;
  }
  return false;
}

// The input of a row of 2x2 windows: two rows.
template <typename T>
struct RowPair {
  int64_t first;
  T *top, *bottom;
  RowPair(const PoolPass& pass, int64_t output_row)
      : first(output_row / pass.out_height * pass.spec.height + output_row % pass.out_height * 2),
        top(PixelAt<T>(pass.in, pass.spec.width, first, 0)),
        bottom(PixelAt<T>(pass.in, pass.spec.width, first + 1, 0)) {}
};

template <typename T>
void ForwardRowPairs(const PoolPass& pass, int64_t begin, int64_t end) {
  const int64_t channels = pass.spec.channels, count = pass.out_width * channels;
  for (int64_t row = begin; row < end; ++row) {
    const RowPair<const T> in(pass, row);
    T* y = PixelAt<T>(pass.out, pass.out_width, row, 0);
    uint8_t* winners = static_cast<uint8_t*>(pass.winners);
    if (winners != nullptr) winners += row * count;
    const auto whole_row = [&](auto d) HWY_ATTR {
      Forward2x2<HalfPairs>(d, {1, count, in.bottom - in.top, pass.average()}, in.top, y, winners);
    };
    if (WithHalfPixels<T>(pass, whole_row)) continue;
    for (int64_t column = 0; column < pass.out_width; ++column) {
      const int64_t at = 2 * column * pass.in.pitch;
      Pixel2x2(pass.average(), in.top + at, in.bottom + at, pass.in.pitch, channels,
               y + column * pass.out.pitch,
               winners == nullptr ? nullptr : winners + column * channels,
               2 * pass.spec.width * pass.in.pitch);
    }
  }
}

template <typename T>
void BackwardRowPairs(const PoolPass& pass, int64_t begin, int64_t end) {
  const int64_t channels = pass.spec.channels, count = pass.out_width * channels;
  const int64_t width = pass.spec.width;
  for (int64_t row = begin; row < end; ++row) {
    const RowPair<T> in(pass, row);
    const T* dy = PixelAt<const T>(pass.out, pass.out_width, row, 0);
    const uint8_t* winners = static_cast<const uint8_t*>(pass.winners);
    if (winners != nullptr) winners += row * count;
    const auto whole_row = [&](auto d) HWY_ATTR {
      Backward2x2<HalfPairs>(d, {1, count, in.bottom - in.top, pass.average()}, dy, winners,
                             pass.accumulate, in.top);
    };
    if (!WithHalfPixels<T>(pass, whole_row)) {
      for (int64_t column = 0; column < pass.out_width; ++column) {
        const int64_t at = 2 * column * pass.in.pitch;
        Pixel2x2Gradient(dy + column * pass.out.pitch,
                         winners == nullptr ? nullptr : winners + column * channels, channels,
                         pass.accumulate, in.top + at, in.bottom + at, pass.in.pitch,
                         2 * width * pass.in.pitch);
      }
    }
    if (pass.accumulate) continue;
    // An odd last column, and an odd last row, lie in no window.
    ZeroPixels<T>(pass, in.first * width + 2 * pass.out_width, (in.first + 1) * width);
    ZeroPixels<T>(pass, (in.first + 1) * width + 2 * pass.out_width, (in.first + 2) * width);
    if (row % pass.out_height + 1 == pass.out_height && pass.spec.height % 2 == 1) {
      ZeroPixels<T>(pass, (in.first + 2) * width, (in.first + 3) * width);
    }
  }
}

template <typename T>
void ForwardTyped(const PoolPass& pass, int64_t begin, int64_t end) {
  if (pass.Is2x2()) return ForwardRowPairs<T>(pass, begin, end);
  if (pass.Is3x3()) {
    return ForEachTile(
        begin, end, pass.out_height,
        [&](int64_t image, int64_t row) { ForwardTiles<kTileRows, T>(pass, image, row); },
        [&](int64_t image, int64_t row) { ForwardTiles<1, T>(pass, image, row); });
  }
  pass.spec.WinnerDType() == DType::kUint8 ? ForwardRows<T, uint8_t>(pass, begin, end)
                                           : ForwardRows<T, int32_t>(pass, begin, end);
}

template <typename T, typename W>
void BackwardTyped(const PoolPass& pass, int64_t begin, int64_t end) {
  if (pass.Is2x2()) return BackwardRowPairs<T>(pass, begin, end);
  if (pass.Is3x3()) {
    return ForEachTile(
        begin, end, pass.spec.height,
        [&](int64_t image, int64_t row) { BackwardTiles<kTileRows, T>(pass, image, row); },
        [&](int64_t image, int64_t row) { BackwardTiles<1, T>(pass, image, row); });
  }
  pass.disjoint ? GatherRows<T, W>(pass, begin, end) : GatherOverlapping<T, W>(pass, begin, end);
}

void Forward(const PoolPass& pass, int64_t begin, int64_t end) {
  pass.spec.dtype == DType::kFloat32 ? ForwardTyped<float>(pass, begin, end)
                                     : ForwardTyped<double>(pass, begin, end);
}

void Backward(const PoolPass& pass, int64_t begin, int64_t end) {
  const bool bytes = pass.spec.WinnerDType() == DType::kUint8;
  if (pass.spec.dtype == DType::kFloat32) {
    bytes ? BackwardTyped<float, uint8_t>(pass, begin, end)
          : BackwardTyped<float, int32_t>(pass, begin, end);
  } else {
    bytes ? BackwardTyped<double, uint8_t>(pass, begin, end)
          : BackwardTyped<double, int32_t>(pass, begin, end);
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace dtnn
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dtnn {

HWY_EXPORT(Forward);
HWY_EXPORT(Backward);

void PoolForwardNhwc(const PoolPass& pass, int64_t begin, int64_t end) {
  HWY_DYNAMIC_DISPATCH(Forward)(pass, begin, end);
}
void PoolBackwardNhwc(const PoolPass& pass, int64_t begin, int64_t end) {
  HWY_DYNAMIC_DISPATCH(Backward)(pass, begin, end);
}

}  // namespace dtnn
#endif  // HWY_ONCE
