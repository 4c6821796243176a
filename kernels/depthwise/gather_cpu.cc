// Sums of taps: y from x, or dx from dy. A tile is kTile results (neighbours in a row, or one pixel
// of several images where rows are short) that share the loads of the filter; vectors run over the
// channels.

#include "kernels/depthwise/depthwise_cpu.h"

// Everything up to HWY_ONCE is compiled once per instruction set.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/depthwise/gather_cpu.cc"
#include "hwy/cache_control.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/elementwise/relu-inl.h"
#include "kernels/elementwise/transform-inl.h"

#ifndef DTNN_KERNELS_DEPTHWISE_GATHER_CPU_CC_
#define DTNN_KERNELS_DEPTHWISE_GATHER_CPU_CC_
namespace dtnn::depthwise {

// The taps of a tile's first result, as a grid; distances in elements.
struct TapGrid {
  int64_t rows, columns;
  int64_t in, in_row, in_column;
  int64_t filter, filter_row, filter_column;
  int64_t ahead;  // the input row below all taps
};

template <typename T>
TapGrid GridOf(const Gather<T>& g, const AxisTaps& rows, const AxisTaps& columns) {
  const int64_t in = rows.in * g.in.row + columns.in * g.in.pixel;
  const int64_t in_row = g.rows->in_step * g.in.row;
  return {.rows = rows.count,
          .columns = columns.count,
          .in = in,
          .in_row = in_row,
          .in_column = g.columns->in_step * g.in.pixel,
          .filter = (rows.filter * g.kernel_width + columns.filter) * g.filter_pitch,
          .filter_row = g.rows->filter_step * g.kernel_width * g.filter_pitch,
          .filter_column = g.columns->filter_step * g.filter_pitch,
          .ahead = in + (in_row > 0 ? rows.count * in_row : -in_row)};
}

}  // namespace dtnn::depthwise
#endif  // DTNN_KERNELS_DEPTHWISE_GATHER_CPU_CC_

HWY_BEFORE_NAMESPACE();
namespace dtnn::depthwise {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using dtnn::HWY_NAMESPACE::ForEachVector;
using dtnn::HWY_NAMESPACE::Rectify;

template <typename T, class Access, class V>
HWY_INLINE void Finish(const Gather<T>& g, const Access& access, int64_t c, V sum, T* out) {
  if (g.scale != nullptr) sum = hn::Mul(sum, access.Load(g.scale + c));
  if (g.bias != nullptr) sum = hn::Add(sum, access.Load(g.bias + c));
  if (g.relu) sum = Rectify(access.d, sum);
  if (g.accumulate) sum = hn::Add(access.Load(out), sum);
  access.Store(sum, out);
}

// Result i reads at in + i * in_tile and is written to out + i * out_tile. kAhead: asks for what
// the row of results below will want besides; rows that lie far apart are more than hardware
// prefetchers follow.
template <bool kAhead, typename T>
HWY_INLINE void ComputeTile(const Gather<T>& g, const TapGrid& taps, const T* HWY_RESTRICT in,
                            int64_t in_tile, T* HWY_RESTRICT out, int64_t out_tile) {
  static_assert(kTile == 4);
  ForEachVector<T>(g.channels, [&](const auto& access, int64_t c) HWY_ATTR {
    auto s0 = hn::Zero(access.d), s1 = s0, s2 = s0, s3 = s0;
    const T* in_row = in + taps.in + c;
    const T* filter_row = g.filter + taps.filter + c;
    for (int64_t i = taps.rows; i > 0; --i) {
      const T *at = in_row, *filter = filter_row;
      for (int64_t j = taps.columns; j > 0; --j) {
        const auto w = access.Load(filter);
        s0 = hn::MulAdd(access.Load(at), w, s0);
        s1 = hn::MulAdd(access.Load(at + in_tile), w, s1);
        s2 = hn::MulAdd(access.Load(at + 2 * in_tile), w, s2);
        s3 = hn::MulAdd(access.Load(at + 3 * in_tile), w, s3);
        at += taps.in_column;
        filter += taps.filter_column;
      }
      in_row += taps.in_row;
      filter_row += taps.filter_row;
    }
    if (kAhead) {
      const T* ahead = in + taps.ahead + c;
      hwy::Prefetch(ahead);
      hwy::Prefetch(ahead + in_tile);
      hwy::Prefetch(ahead + 2 * in_tile);
      hwy::Prefetch(ahead + 3 * in_tile);
    }
    Finish(g, access, c, s0, out + c);
    Finish(g, access, c, s1, out + out_tile + c);
    Finish(g, access, c, s2, out + 2 * out_tile + c);
    Finish(g, access, c, s3, out + 3 * out_tile + c);
  });
}

template <typename T>
HWY_INLINE void ComputeOne(const Gather<T>& g, const TapGrid& taps, const T* HWY_RESTRICT in,
                           T* HWY_RESTRICT out) {
  ForEachVector<T>(g.channels, [&](const auto& access, int64_t c) HWY_ATTR {
    auto sum = hn::Zero(access.d);
    const T* in_row = in + taps.in + c;
    const T* filter_row = g.filter + taps.filter + c;
    for (int64_t i = taps.rows; i > 0; --i) {
      const T *at = in_row, *filter = filter_row;
      for (int64_t j = taps.columns; j > 0; --j) {
        sum = hn::MulAdd(access.Load(at), access.Load(filter), sum);
        at += taps.in_column;
        filter += taps.filter_column;
      }
      in_row += taps.in_row;
      filter_row += taps.filter_row;
    }
    Finish(g, access, c, sum, out + c);
  });
}

// A row of one image, in tiles of neighbours.
template <typename T>
void ComputeRow(const Gather<T>& g, int64_t image, int64_t row) {
  const T* in = g.in.data + image * g.in.image;
  T* out = g.out.data + image * g.out.image + row * g.out.row;
  for (const AxisTile& tile : g.columns->tiles) {
    const TapGrid taps = GridOf(g, g.rows->taps[size_t(row)], tile.taps);
    T* to = out + tile.out * g.out.pixel;
    if (tile.size == kTile) {
      ComputeTile<true>(g, taps, in, g.columns->in_tile * g.in.pixel, to,
                        g.columns->out_tile * g.out.pixel);
    } else {
      ComputeOne(g, taps, in, to);
    }
  }
}

// The same row of kTile images, pixel by pixel.
template <typename T>
void ComputeRowOfImages(const Gather<T>& g, int64_t image, int64_t row) {
  const T* in = g.in.data + image * g.in.image;
  T* out = g.out.data + image * g.out.image + row * g.out.row;
  for (size_t column = 0; column < g.columns->taps.size(); ++column) {
    const TapGrid taps = GridOf(g, g.rows->taps[size_t(row)], g.columns->taps[column]);
    ComputeTile<false>(g, taps, in, g.in.image, out + int64_t(column) * g.out.pixel, g.out.image);
  }
}

template <typename T>
void Rows(const Gather<T>& g, int64_t begin, int64_t end) {
  int64_t image = 0;
  for (; image + kTile <= g.images; image += kTile) {
    for (int64_t row = begin; row < end; ++row) ComputeRowOfImages(g, image, row);
  }
  for (; image < g.images; ++image) {
    for (int64_t row = begin; row < end; ++row) ComputeRow(g, image, row);
  }
}

void GatherF32(const Gather<float>& g, int64_t begin, int64_t end) { Rows(g, begin, end); }
void GatherF64(const Gather<double>& g, int64_t begin, int64_t end) { Rows(g, begin, end); }

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace dtnn::depthwise
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dtnn::depthwise {

HWY_EXPORT(GatherF32);
HWY_EXPORT(GatherF64);

void GatherRows(const Gather<float>& gather, int64_t begin, int64_t end) {
  HWY_DYNAMIC_DISPATCH(GatherF32)(gather, begin, end);
}
void GatherRows(const Gather<double>& gather, int64_t begin, int64_t end) {
  HWY_DYNAMIC_DISPATCH(GatherF64)(gather, begin, end);
}

}  // namespace dtnn::depthwise
#endif  // HWY_ONCE
