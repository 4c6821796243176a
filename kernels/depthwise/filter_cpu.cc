// Sums over pixels: the gradients of the filter and of the bias. For a vector of channels, the taps
// of one row of the kernel are summed together, so that an element of dy is loaded once for them.

#include <algorithm>

#include "kernels/depthwise/depthwise_cpu.h"

// Everything up to HWY_ONCE is compiled once per instruction set.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/depthwise/filter_cpu.cc"
#include "hwy/cache_control.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/elementwise/transform-inl.h"

#ifndef DTNN_KERNELS_DEPTHWISE_FILTER_CPU_CC_
#define DTNN_KERNELS_DEPTHWISE_FILTER_CPU_CC_
namespace dtnn::depthwise {

// Taps of a kernel row that are summed together.
inline constexpr int64_t kTogether = 3;
// x and dy of this many bytes stay in cache while one vector of channels after the other reads
// them.
inline constexpr int64_t kStripBytes = 32 << 10;

// The outputs [begin, end) along an axis whose tap k lies inside the input.
struct Range {
  int64_t begin = 0, end = 0;
};
inline Range OutputsOf(int64_t k, int64_t in, int64_t out, int64_t stride, int64_t padding,
                       int64_t dilation) {
  const int64_t shift = padding - k * dilation;  // o * stride >= shift, and < in + shift
  const auto ceil = [&](int64_t a) { return a > 0 ? (a + stride - 1) / stride : 0; };
  const int64_t begin = ceil(shift);
  return {std::min(begin, out), std::clamp(ceil(in + shift), std::min(begin, out), out)};
}

// Rows of outputs, numbered through the images, and the taps of a row of the kernel.
struct RowTaps {
  int64_t begin = 0, end = 0;  // rows
  int64_t kernel_row = 0;
  int64_t first = 0;              // tap
  Range columns[kTogether] = {};  // of each tap
};

}  // namespace dtnn::depthwise
#endif  // DTNN_KERNELS_DEPTHWISE_FILTER_CPU_CC_

HWY_BEFORE_NAMESPACE();
namespace dtnn::depthwise {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using dtnn::HWY_NAMESPACE::ForEachVector;

// Calls use(x row, dy row) for the rows whose kernel row lies inside the input.
template <typename T, class F>
HWY_INLINE void ForEachRow(const FilterSums<T>& p, const RowTaps& taps, int64_t c, const F& use) {
  const Conv2dSpec& s = *p.spec;
  const int64_t out_height = s.out_height();
  int64_t image = taps.begin / out_height, oh = taps.begin % out_height;
  for (int64_t row = taps.begin; row < taps.end; ++row) {
    const int64_t h =
        oh * s.stride.vertical - s.padding.vertical + taps.kernel_row * s.dilation.vertical;
    if (h >= 0 && h < s.height) {
      use(p.x.data + image * p.x.image + h * p.x.row + c,
          p.dy.data + image * p.dy.image + oh * p.dy.row + c);
    }
    if (++oh == out_height) oh = 0, ++image;
  }
}

// sum + the products of one tap over outputs [range.begin, range.end) of a row.
template <typename T, class Access, class V>
HWY_INLINE V AddTap(const Access& access, const T* x, int64_t x_step, const T* dy, int64_t dy_step,
                    V sum, int64_t count) {
  for (; count > 0; --count, x += x_step, dy += dy_step) {
    sum = hn::MulAdd(access.Load(x), access.Load(dy), sum);
  }
  return sum;
}

// Adds the products of `kCount` neighbouring taps.
template <int64_t kCount, typename T, class Access>
HWY_INLINE void AddTaps(const FilterSums<T>& p, const RowTaps& taps, const Access& access,
                        int64_t c) {
  const Conv2dSpec& s = *p.spec;
  T* sums = p.sums + (taps.kernel_row * s.kernel.horizontal + taps.first) * p.sums_pitch + c;
  auto s0 = access.Load(sums);
  auto s1 = kCount > 1 ? access.Load(sums + p.sums_pitch) : s0;
  auto s2 = kCount > 2 ? access.Load(sums + 2 * p.sums_pitch) : s0;
  auto t0 = hn::Zero(access.d), t1 = t0, t2 = t0;  // of every second column: shorter chains
  const int64_t tap = s.dilation.horizontal * p.x.pixel;
  const int64_t x_step = s.stride.horizontal * p.x.pixel, dy_step = p.dy.pixel;
  const int64_t origin = taps.first * tap - s.padding.horizontal * p.x.pixel;
  // The columns that all taps share; the rest goes tap by tap.
  int64_t begin = taps.columns[0].begin, end = taps.columns[0].end;
  for (int64_t k = 1; k < kCount; ++k) {
    begin = std::max(begin, taps.columns[k].begin);
    end = std::min(end, taps.columns[k].end);
  }
  end = std::max(begin, end);
  ForEachRow(p, taps, c, [&](const T* x_row, const T* dy_row) HWY_ATTR {
    const auto edges = [&](auto& sum, const Range& range, int64_t at) HWY_ATTR {
      const int64_t left = std::min(begin, range.end), right = std::max(end, left);
      const T* x = x_row + at;
      sum = AddTap(access, x + range.begin * x_step, x_step, dy_row + range.begin * dy_step,
                   dy_step, sum, left - range.begin);
      sum = AddTap(access, x + right * x_step, x_step, dy_row + right * dy_step, dy_step, sum,
                   range.end - right);
    };
    edges(s0, taps.columns[0], origin);
    if constexpr (kCount > 1) edges(s1, taps.columns[1], origin + tap);
    if constexpr (kCount > 2) edges(s2, taps.columns[2], origin + 2 * tap);
    const T *x = x_row + origin + begin * x_step, *dy = dy_row + begin * dy_step;
    int64_t count = end - begin;
    for (; count > 1; count -= 2, x += 2 * x_step, dy += 2 * dy_step) {
      const auto g = access.Load(dy), h = access.Load(dy + dy_step);
      s0 = hn::MulAdd(access.Load(x), g, s0);
      t0 = hn::MulAdd(access.Load(x + x_step), h, t0);
      if constexpr (kCount > 1) {
        s1 = hn::MulAdd(access.Load(x + tap), g, s1);
        t1 = hn::MulAdd(access.Load(x + tap + x_step), h, t1);
      }
      if constexpr (kCount > 2) {
        s2 = hn::MulAdd(access.Load(x + 2 * tap), g, s2);
        t2 = hn::MulAdd(access.Load(x + 2 * tap + x_step), h, t2);
      }
    }
    if (count > 0) {
      const auto g = access.Load(dy);
      s0 = hn::MulAdd(access.Load(x), g, s0);
      if constexpr (kCount > 1) s1 = hn::MulAdd(access.Load(x + tap), g, s1);
      if constexpr (kCount > 2) s2 = hn::MulAdd(access.Load(x + 2 * tap), g, s2);
    }
  });
  access.Store(hn::Add(s0, t0), sums);
  if constexpr (kCount > 1) access.Store(hn::Add(s1, t1), sums + p.sums_pitch);
  if constexpr (kCount > 2) access.Store(hn::Add(s2, t2), sums + 2 * p.sums_pitch);
}

// Adds the elements of dy, and asks for what the strip after this one will read.
template <typename T, class Access>
HWY_INLINE void AddBias(const FilterSums<T>& p, int64_t begin, int64_t end, const Access& access,
                        int64_t c) {
  const Conv2dSpec& s = *p.spec;
  const int64_t width = s.out_width(), height = s.out_height();
  T* sums = p.sums + s.kernel.vertical * s.kernel.horizontal * p.sums_pitch + c;
  auto s0 = access.Load(sums), s1 = hn::Zero(access.d);
  for (int64_t row = begin; row < end; ++row) {
    const T* dy = p.dy.data + row / height * p.dy.image + row % height * p.dy.row + c;
    const T* next_dy = dy + (end - begin) * p.dy.row;
    const int64_t x_row = ((row + end - begin) * s.stride.vertical + s.padding.vertical) * p.x.row;
    const T* next_x = p.x.data + x_row + c;
    int64_t count = width;
    for (; count > 1; count -= 2, dy += 2 * p.dy.pixel) {
      hwy::Prefetch(next_dy);
      hwy::Prefetch(next_dy + p.dy.pixel);
      hwy::Prefetch(next_x);
      hwy::Prefetch(next_x + p.x.pixel);
      next_dy += 2 * p.dy.pixel;
      next_x += 2 * s.stride.horizontal * p.x.pixel;
      s0 = hn::Add(s0, access.Load(dy));
      s1 = hn::Add(s1, access.Load(dy + p.dy.pixel));
    }
    if (count > 0) s0 = hn::Add(s0, access.Load(dy));
  }
  access.Store(hn::Add(s0, s1), sums);
}

// The sum of x * dy over the given outputs of kTile images, added to *sums.
template <typename T, class Access>
HWY_INLINE void AddTapOfImages(const FilterSums<T>& p, const Access& access, const T* x,
                               const Range& rows, const Range& columns, const T* dy, T* sums) {
  const Conv2dSpec& s = *p.spec;
  auto s0 = access.Load(sums), s1 = hn::Zero(access.d), s2 = s1, s3 = s1;
  for (int64_t oh = rows.begin; oh < rows.end; ++oh) {
    for (int64_t ow = columns.begin; ow < columns.end; ++ow) {
      const T* a = x + oh * s.stride.vertical * p.x.row + ow * s.stride.horizontal * p.x.pixel;
      const T* b = dy + oh * p.dy.row + ow * p.dy.pixel;
      s0 = hn::MulAdd(access.Load(a), access.Load(b), s0);
      s1 = hn::MulAdd(access.Load(a + p.x.image), access.Load(b + p.dy.image), s1);
      s2 = hn::MulAdd(access.Load(a + 2 * p.x.image), access.Load(b + 2 * p.dy.image), s2);
      s3 = hn::MulAdd(access.Load(a + 3 * p.x.image), access.Load(b + 3 * p.dy.image), s3);
    }
  }
  access.Store(hn::Add(hn::Add(s0, s1), hn::Add(s2, s3)), sums);
}

template <typename T, class Access>
HWY_INLINE void AddBiasOfImages(const FilterSums<T>& p, const Access& access, const T* dy,
                                T* sums) {
  const Conv2dSpec& s = *p.spec;
  auto s0 = access.Load(sums), s1 = hn::Zero(access.d), s2 = s1, s3 = s1;
  for (int64_t oh = 0; oh < s.out_height(); ++oh) {
    for (int64_t ow = 0; ow < s.out_width(); ++ow) {
      const T* b = dy + oh * p.dy.row + ow * p.dy.pixel;
      s0 = hn::Add(s0, access.Load(b));
      s1 = hn::Add(s1, access.Load(b + p.dy.image));
      s2 = hn::Add(s2, access.Load(b + 2 * p.dy.image));
      s3 = hn::Add(s3, access.Load(b + 3 * p.dy.image));
    }
  }
  access.Store(hn::Add(hn::Add(s0, s1), hn::Add(s2, s3)), sums);
}

// kTile images from `first` on, tap by tap: for maps with more border than inside.
template <typename T>
void SumsOfImages(const FilterSums<T>& p, int64_t first) {
  const Conv2dSpec& s = *p.spec;
  const T* dy = p.dy.data + first * p.dy.image;
  T* sums = p.sums;
  for (int64_t kh = 0; kh < s.kernel.vertical; ++kh) {
    const int64_t row = kh * s.dilation.vertical - s.padding.vertical;
    const Range rows = OutputsOf(kh, s.height, s.out_height(), s.stride.vertical,
                                 s.padding.vertical, s.dilation.vertical);
    for (int64_t kw = 0; kw < s.kernel.horizontal; ++kw, sums += p.sums_pitch) {
      const int64_t column = kw * s.dilation.horizontal - s.padding.horizontal;
      const Range columns = OutputsOf(kw, s.width, s.out_width(), s.stride.horizontal,
                                      s.padding.horizontal, s.dilation.horizontal);
      if (rows.begin == rows.end || columns.begin == columns.end) continue;
      const T* x = p.x.data + first * p.x.image + row * p.x.row + column * p.x.pixel;
      ForEachVector<T>(p.channels, [&](const auto& access, int64_t c) HWY_ATTR {
        AddTapOfImages(p, access, x + c, rows, columns, dy + c, sums + c);
      });
    }
  }
  ForEachVector<T>(p.channels, [&](const auto& access, int64_t c)
                                   HWY_ATTR { AddBiasOfImages(p, access, dy + c, sums + c); });
}

template <typename T>
void SumsOfRows(const FilterSums<T>& p) {
  const Conv2dSpec& s = *p.spec;
  const int64_t rows = p.images * s.out_height();
  const int64_t row_bytes =
      (s.out_width() + s.stride.vertical * s.width) * p.channels * int64_t(sizeof(T));
  const int64_t strip = std::max<int64_t>(1, kStripBytes / row_bytes);
  for (int64_t begin = 0; begin < rows; begin += strip) {
    RowTaps taps = {.begin = begin, .end = std::min(rows, begin + strip)};
    ForEachVector<T>(p.channels, [&](const auto& access, int64_t c)
                                     HWY_ATTR { AddBias(p, taps.begin, taps.end, access, c); });
    for (taps.first = 0; taps.first < s.kernel.horizontal; taps.first += kTogether) {
      const int64_t count = std::min(kTogether, s.kernel.horizontal - taps.first);
      for (int64_t i = 0; i < count; ++i) {
        taps.columns[i] = OutputsOf(taps.first + i, s.width, s.out_width(), s.stride.horizontal,
                                    s.padding.horizontal, s.dilation.horizontal);
      }
      for (taps.kernel_row = 0; taps.kernel_row < s.kernel.vertical; ++taps.kernel_row) {
        ForEachVector<T>(p.channels, [&](const auto& access, int64_t c) HWY_ATTR {
          if (count == 3) AddTaps<3>(p, taps, access, c);
          if (count == 2) AddTaps<2>(p, taps, access, c);
          if (count == 1) AddTaps<1>(p, taps, access, c);
        });
      }
    }
  }
}

template <typename T>
void Sums(const FilterSums<T>& p) {
  FilterSums<T> rest = p;
  if (p.spec->out_width() <= kTile) {
    for (; rest.images >= kTile; rest.images -= kTile) SumsOfImages(p, p.images - rest.images);
  }
  rest.x.data += (p.images - rest.images) * p.x.image;
  rest.dy.data += (p.images - rest.images) * p.dy.image;
  if (rest.images > 0) SumsOfRows(rest);
}

void SumsF32(const FilterSums<float>& pass) { Sums(pass); }
void SumsF64(const FilterSums<double>& pass) { Sums(pass); }

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace dtnn::depthwise
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dtnn::depthwise {

HWY_EXPORT(SumsF32);
HWY_EXPORT(SumsF64);

void AddFilterSums(const FilterSums<float>& pass) { HWY_DYNAMIC_DISPATCH(SumsF32)(pass); }
void AddFilterSums(const FilterSums<double>& pass) { HWY_DYNAMIC_DISPATCH(SumsF64)(pass); }

}  // namespace dtnn::depthwise
#endif  // HWY_ONCE
