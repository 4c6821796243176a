#include "kernels/conv/depthwise/depthwise_cpu.h"

#include <cstddef>
#include <type_traits>
#include <utility>

#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/conv/depthwise/depthwise_cpu.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// After foreach_target.h: these are compiled once per instruction set.
#include "kernels/elementwise/relu-inl.h"
#include "kernels/elementwise/transform-inl.h"
#include "kernels/simd/kernel_tables.h"
#include "kernels/simd/unroll.h"

HWY_BEFORE_NAMESPACE();
namespace dtnn::conv::depthwise {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using dtnn::HWY_NAMESPACE::Part;
using dtnn::HWY_NAMESPACE::Rectify;
using dtnn::HWY_NAMESPACE::Whole;

template <typename T>
using Tag = hn::CappedTag<Wide<T>, size_t(kBlock<T>)>;

// Calls body(i) for i < kCount, each a constant, so that arrays of vectors that it indexes are
// registers.
template <class Body, size_t... kI>
HWY_INLINE void UnrollOver(const Body& body, std::index_sequence<kI...>) {
  (body(std::integral_constant<int, int(kI)>()), ...);
}
template <int kCount, class Body>
HWY_INLINE void Unroll(const Body& body) {
  UnrollOver(body, std::make_index_sequence<size_t(kCount)>());
}

// Calls row(image, row) for all rows.
template <class Row>
HWY_INLINE void ForEachRow(const Counts& counts, const Row& row) {
  for (int64_t i = 0; i < counts.images; ++i) {
    for (int64_t r = 0; r < counts.rows; ++r) row(i, r);
  }
}

// GCC calls long lambdas that are passed on, with all that they capture in memory.
#define DTNN_INLINE HWY_ATTR __attribute__((always_inline))

// Finishes and writes sum[v][u] for vector v of the channels from `c` on, of result first + u.
template <int kV, int kU, typename T, class V, class Access>
HWY_INLINE void Finish(const Sums<T>& s, int64_t first, int64_t c, V (&sum)[kV][kU],
                       const Access& access) {
  const Tag<T> d;
  const int64_t lanes = int64_t(hn::Lanes(d));
  const int64_t addend_step = s.addend_step, out_step = s.out_step;
  const auto each = [&](const auto& change) DTNN_INLINE {
    Unroll<kV>([&](auto v) DTNN_INLINE {
      Unroll<kU>([&](auto u) DTNN_INLINE { change(sum[v][u], int64_t(v), int64_t(u)); });
    });
  };
  const auto each_by = [&](const Wide<T>* by, const auto& change) DTNN_INLINE {
    Unroll<kV>([&](auto v) DTNN_INLINE {
      const V w = hn::LoadU(d, by + v * lanes);
      Unroll<kU>([&](auto u) DTNN_INLINE { sum[v][u] = change(sum[v][u], w); });
    });
  };
  if (s.scale != nullptr) each_by(s.scale + c, [](V a, V w) HWY_ATTR { return hn::Mul(a, w); });
  if (s.bias != nullptr) each_by(s.bias + c, [](V a, V w) HWY_ATTR { return hn::Add(a, w); });
  if (s.addend != nullptr) {
    const T* const addend = s.addend + first * addend_step + c;
    each([&](V& at, int64_t v, int64_t u)
             DTNN_INLINE { at = hn::Add(at, access.Load(addend + u * addend_step + v * lanes)); });
  }
  if (s.relu) each([&](V& at, int64_t, int64_t) DTNN_INLINE { at = Rectify(d, at); });
  T* const out = s.out + first * out_step + c;
  each([&](const V& at, int64_t v, int64_t u)
           DTNN_INLINE { access.Store(at, out + u * out_step + v * lanes); });
}

// kV vectors of channels from `c` on, of kU results from `first` on.
template <typename T, int kU, int kV, class Access>
HWY_INLINE void SumTaps(const Sums<T>& s, int64_t first, int64_t c, const Access& access) {
  const Tag<T> d;
  using V = hn::Vec<decltype(d)>;
  const int64_t lanes = int64_t(hn::Lanes(d));
  // Copies, since what is written might be the struct, for all that compilers know.
  const int64_t in_step = s.in_step;
  const int64_t tap_rows = s.tap_rows, tap_columns = s.tap_columns;
  const TapSteps in_taps = s.in_taps, filter_taps = s.filter_taps;
  const T* in = s.in + first * in_step + c;
  const Wide<T>* filter = s.filter + c;
  if (s.in_below != 0) {
    const T* const out = s.out + first * s.out_step + c;
    for (int u = 0; u < kU; ++u) {
      __builtin_prefetch(in + s.in_below + u * in_step, /*rw=*/0, /*locality=*/2);
      __builtin_prefetch(out + s.out_below + u * s.out_step, /*rw=*/1, /*locality=*/2);
    }
  }
  V sum[kV][kU];
  Unroll<kV>([&](auto v)
                 DTNN_INLINE { Unroll<kU>([&](auto u) DTNN_INLINE { sum[v][u] = hn::Zero(d); }); });
  for (int64_t r = 0; r < tap_rows; ++r, in += in_taps.row, filter += filter_taps.row) {
    const T* x = in;
    const Wide<T>* w_at = filter;
    for (int64_t k = 0; k < tap_columns; ++k, x += in_taps.column, w_at += filter_taps.column) {
      Unroll<kV>([&](auto v) DTNN_INLINE {
        const V w = hn::LoadU(d, w_at + v * lanes);
        Unroll<kU>([&](auto u) DTNN_INLINE {
          sum[v][u] = hn::MulAdd(access.Load(x + u * in_step + v * lanes), w, sum[v][u]);
        });
      });
    }
  }
  Finish(s, first, c, sum, access);
}

// What the columns of a window give their inputs to; see Window.
template <int kColumns, int kStep>
struct Gather {
  static constexpr int kTaps = kColumns;
  static constexpr int kMost = kColumns > 3 ? 4 : 8;  // results of a tile
  static constexpr int kAlign = 1;  // a tile of results begins at a multiple of it
  static constexpr int Columns(int results) { return (results - 1) * kStep + kColumns; }
  static constexpr int64_t FirstColumn(int64_t result) { return result * kStep; }
  // Or -1.
  static constexpr int Result(int column, int tap) {
    return column >= tap && (column - tap) % kStep == 0 ? (column - tap) / kStep : -1;
  }
  // Columns at each end that a window may lack.
  static constexpr int kMissing = kColumns / 2;
};
struct Spread {
  [[maybe_unused]] static constexpr int kTaps = 3;
  [[maybe_unused]] static constexpr int kMost = 8;
  [[maybe_unused]] static constexpr int kAlign = 2;
  static constexpr int Columns(int results) { return results / 2 + 1; }
  static constexpr int64_t FirstColumn(int64_t result) { return result / 2; }
  static constexpr int Result(int column, int tap) { return 2 * column - 1 + tap; }
  [[maybe_unused]] static constexpr int kMissing = 1;
};

// The same as SumTaps with the taps of a window: each input is read once for all results of the
// row.
template <class W, typename T, int kU, int kV, class Access>
HWY_INLINE void SumWindow(const RowSums<T>& job, int64_t first, int64_t c, const Access& access) {
  const Tag<T> d;
  using V = hn::Vec<decltype(d)>;
  constexpr int kColumns = W::Columns(kU);
  const Sums<T>& s = job.s;
  const int64_t lanes = int64_t(hn::Lanes(d));
  const int64_t in_step = s.in_step, in_row = s.in_taps.row;
  const TapSteps filter_taps = s.filter_taps;
  const int64_t column = job.first + W::FirstColumn(first);
  const int64_t end = job.width - column;  // of the window's columns that exist
  const T* in = s.in + column * in_step + c;
  const Wide<T>* filter = s.filter + c;
  if (s.in_below != 0) {
    const T* const out = s.out + first * s.out_step + c;
    for (int i = 0; i < kColumns; ++i) {
      __builtin_prefetch(in + s.in_below + i * in_step, /*rw=*/0, /*locality=*/2);
    }
    for (int u = 0; u < kU; ++u) {
      __builtin_prefetch(out + s.out_below + u * s.out_step, /*rw=*/1, /*locality=*/2);
    }
  }
  V sum[kV][kU];
  DTNN_UNROLL(8)
  for (int v = 0; v < kV; ++v) {
    DTNN_UNROLL(8)
    for (int u = 0; u < kU; ++u) sum[v][u] = hn::Zero(d);
  }
  for (int64_t r = s.tap_rows; r > 0; --r, in += in_row, filter += filter_taps.row) {
    DTNN_UNROLL(8)
    for (int v = 0; v < kV; ++v) {
      V w[W::kTaps];
      const Wide<T>* from = filter + v * lanes;
      DTNN_UNROLL(8)
      for (int k = 0; k < W::kTaps; ++k, from += filter_taps.column) w[k] = hn::LoadU(d, from);
      // One pointer that moves: as many distances would not fit the registers.
      const T* at = in + v * lanes;
      DTNN_UNROLL(32)
      for (int i = 0; i < kColumns; ++i, at += in_step) {
        if (i < W::kMissing && column + i < 0) continue;
        if (i >= kColumns - W::kMissing && i >= end) continue;
        const V x = access.Load(at);
        DTNN_UNROLL(8)
        for (int k = 0; k < W::kTaps; ++k) {
          const int result = W::Result(i, k);
          if (result >= 0 && result < kU) sum[v][result] = hn::MulAdd(x, w[k], sum[v][result]);
        }
      }
    }
  }
  Finish(s, first, c, sum, access);
}

// Calls sum(c, vectors, access) for all channels, kMost vectors at a time.
template <typename T, int kMost, class Sum>
HWY_INLINE void ForAllChannels(int64_t channels, const Sum& sum) {
  const Tag<T> d;
  const int64_t lanes = int64_t(hn::Lanes(d));
  int64_t c = 0;
  for (; c + kMost * lanes <= channels; c += kMost * lanes) {
    sum(c, std::integral_constant<int, kMost>(), Whole<decltype(d)>{d});
  }
  for (; c < channels; c += lanes) {
    const auto count = size_t(HWY_MIN(channels - c, lanes));
    sum(c, std::integral_constant<int, 1>(), Part<decltype(d)>{d, count});
  }
}

// Vectors of channels together, so that there are enough sums to hide each other's latency and they
// still fit the registers.
[[maybe_unused]] constexpr int VectorsOf(int results) {
#if HWY_TARGET <= HWY_AVX3
  return results > 8 ? 1 : results > 6 ? 2 : results > 2 ? 3 : 4;
#else
  return results > 5 ? 1 : results > 3 ? 2 : results > 2 ? 3 : 4;
#endif
}

template <typename T, int kU>
HWY_NOINLINE void SumChannels(const Sums<T>& s, int64_t first) {
  ForAllChannels<T, (kU > 2 ? 2 : 4)>(
      s.channels, [&](int64_t c, auto vectors, auto access)
                      DTNN_INLINE { SumTaps<T, kU, vectors>(s, first, c, access); });
}

template <class W, typename T, int kU>
HWY_NOINLINE void SumRowChannels(const RowSums<T>& job, int64_t first) {
  ForAllChannels<T, VectorsOf(kU)>(
      job.s.channels, [&](int64_t c, auto vectors, auto access)
                          DTNN_INLINE { SumWindow<W, T, kU, vectors>(job, first, c, access); });
}

// Groups of about equal size of up to 6 results, whose sums fill most registers of AVX2.
template <typename T>
void Sum(const Sums<T>& s) {
  constexpr int64_t kMost = 6;
  static constexpr void (*kSums[])(const Sums<T>&, int64_t) = {
      &SumChannels<T, 1>, &SumChannels<T, 2>, &SumChannels<T, 3>,
      &SumChannels<T, 4>, &SumChannels<T, 5>, &SumChannels<T, 6>};
  for (int64_t first = 0, groups = (s.count + kMost - 1) / kMost; groups > 0; --groups) {
    const int64_t results = (s.count - first + groups - 1) / groups;
    kSums[results - 1](s, first);
    first += results;
  }
}

// Tiles of about equal size of up to kMost results.
template <class W, typename T, size_t... kU>
HWY_INLINE void SumRowOf(const RowSums<T>& job, std::index_sequence<kU...>) {
  static constexpr void (*kSums[])(const RowSums<T>&, int64_t) = {&SumRowChannels<W, T, kU + 1>...};
  constexpr int64_t kMost = sizeof...(kU);
  const int64_t count = job.s.count;
  for (int64_t first = 0, tiles = (count + kMost - 1) / kMost; tiles > 0; --tiles) {
    int64_t results = (count - first + tiles - 1) / tiles;
    if (tiles > 1) results = (results + W::kAlign - 1) / W::kAlign * W::kAlign;
    kSums[results - 1](job, first);
    first += results;
  }
}
template <class W, typename T>
void SumRow(const RowSums<T>& job) {
  SumRowOf<W>(job, std::make_index_sequence<W::kMost>());
}

// One vector of channels.
template <typename T, int kR, int kC, class Access>
HWY_INLINE void CorrelateVector(const Correlation<T>& c, int64_t lane, const Access& access) {
  const Tag<T> d;
  using V = hn::Vec<decltype(d)>;
  const int64_t step = c.in.pixel, tap = c.in_taps.column, dy_step = c.dy.pixel;
  const auto sums_at = [&](int i) {
    return c.sums + i / kC * c.sums_taps.row + i % kC * c.sums_taps.column + lane;
  };
  V sums[kR * kC];
  Unroll<kR * kC>([&](auto i) HWY_ATTR { sums[i] = hn::Zero(d); });
  ForEachRow(c.results, [&](int64_t image, int64_t row) HWY_ATTR {
    const T* in[kR];
    Unroll<kR>([&](auto r) { in[r] = c.in.At(image, row) + r * c.in_taps.row + lane; });
    const T* dy = c.dy.At(image, row) + lane;
    for (int64_t i = c.results.columns; i > 0; --i, dy += dy_step) {
      const V gradient = access.Load(dy);
      Unroll<kR>([&](auto r) HWY_ATTR {
        Unroll<kC>([&](auto k) HWY_ATTR {
          V& sum = sums[r * kC + k];
          sum = hn::MulAdd(access.Load(in[r] + k * tap), gradient, sum);
        });
        in[r] += step;
      });
    }
  });
  Unroll<kR * kC>([&](auto i) HWY_ATTR {
    hn::StoreU(hn::Add(hn::LoadU(d, sums_at(i)), sums[i]), d, sums_at(i));
  });
}

// One vector of channels. Of up to 4 results of a row, each input is read once: dy and the sums
// stay in registers, 9 + 4 + 1 with 3 x 3 taps.
template <class W, typename T, int kR>
HWY_INLINE void SlideVector(const SlidingCorrelation<T>& job, int64_t lane) {
  const Tag<T> d;
  using V = hn::Vec<decltype(d)>;
  const Correlation<T>& c = job.c;
  const int64_t step = c.in.pixel, dy_step = c.dy.pixel, in_row = c.in.row;
  Wide<T>* const to = c.sums + lane;
  const Whole<Tag<T>> access{d};
  V sums[kR][W::kTaps];
  DTNN_UNROLL(8)
  for (int r = 0; r < kR; ++r) {
    DTNN_UNROLL(8)
    for (int k = 0; k < W::kTaps; ++k) sums[r][k] = hn::Zero(d);
  }
  for (int64_t image = 0; image < c.results.images; ++image) {
    for (int64_t row = 0; row < c.results.rows; ++row) {
      const int64_t top = job.first_row + row * job.row_step;
      const T* dy = c.dy.At(image, row) + lane;
      int64_t column = job.first_column;
      const T* in = c.in.At(image, top) + column * step + lane;
      const auto tile = [&](auto results) DTNN_INLINE {
        constexpr int kU = results, kColumns = W::Columns(kU);
        V gradient[kU];
        DTNN_UNROLL(8)
        for (int u = 0; u < kU; ++u) gradient[u] = access.Load(dy + u * dy_step);
        const int64_t end = job.width - column;
        DTNN_UNROLL(8)
        for (int r = 0; r < kR; ++r) {
          if (uint64_t(top + r) >= uint64_t(job.height)) continue;
          const T* at = in + r * in_row;
          DTNN_UNROLL(16)
          for (int i = 0; i < kColumns; ++i, at += step) {
            if (i < W::kMissing && column + i < 0) continue;
            if (i >= kColumns - W::kMissing && i >= end) continue;
            const V x = access.Load(at);
            DTNN_UNROLL(8)
            for (int k = 0; k < W::kTaps; ++k) {
              const int result = W::Result(i, k);
              if (result >= 0 && result < kU) {
                sums[r][k] = hn::MulAdd(x, gradient[result], sums[r][k]);
              }
            }
          }
        }
        dy += kU * dy_step, in += W::FirstColumn(kU) * step, column += W::FirstColumn(kU);
      };
      int64_t left = c.results.columns;
      for (; left >= 4; left -= 4) tile(std::integral_constant<int, 4>());
      if (left == 3) tile(std::integral_constant<int, 3>());
      if (left == 2) tile(std::integral_constant<int, 2>());
      if (left == 1) tile(std::integral_constant<int, 1>());
    }
  }
  DTNN_UNROLL(8)
  for (int r = 0; r < kR; ++r) {
    DTNN_UNROLL(8)
    for (int k = 0; k < W::kTaps; ++k) {
      Wide<T>* const at = to + r * c.sums_taps.row + k * c.sums_taps.column;
      hn::StoreU(hn::Add(hn::LoadU(d, at), sums[r][k]), d, at);
    }
  }
}

template <class W, typename T, int kR>
void Slide(const SlidingCorrelation<T>& job) {
  const int64_t lanes = int64_t(hn::Lanes(Tag<T>()));
  for (int64_t lane = 0; lane < kBlock<T>; lane += lanes) SlideVector<W, T, kR>(job, lane);
}

template <typename T, int kR, int kC>
void CorrelateTaps(const Correlation<T>& c) {
  const Tag<T> d;
  const int64_t lanes = int64_t(hn::Lanes(d));
  int64_t lane = 0;
  for (; lane + lanes <= c.channels; lane += lanes) {
    CorrelateVector<T, kR, kC>(c, lane, Whole<decltype(d)>{d});
  }
  if (lane < c.channels) {
    const auto count = size_t(c.channels - lane);
    CorrelateVector<T, kR, kC>(c, lane, Part<decltype(d)>{d, count});
  }
}

template <Window kWindow, class W, int kMostRows, typename T>
void AddWindow(Kernels<T>& kernels) {
  kernels.sum_row[kWindow] = &SumRow<W, T>;
  [&]<size_t... kR>(std::index_sequence<kR...>) {
    ((kernels.slide[kWindow][kR] = &Slide<W, T, int(kR) + 1>), ...);
  }
  (std::make_index_sequence<kMostRows>());
}

template <typename T>
const Kernels<T>* Table() {
  static_assert(kTaps == 3 && kMoreTaps == 5);
#define DTNN_TABLE(F)                                                                 \
  {                                                                                   \
    {&F<T, 1, 1>, &F<T, 1, 2>, &F<T, 1, 3>}, {&F<T, 2, 1>, &F<T, 2, 2>, &F<T, 2, 3>}, \
        {&F<T, 3, 1>, &F<T, 3, 2>, &F<T, 3, 3>},                                      \
  }
  static const Kernels<T> table = [] {
    Kernels<T> made = {.sum = &Sum<T>, .correlate = DTNN_TABLE(CorrelateTaps)};
    if constexpr (sizeof(Wide<T>) == sizeof(float) && HWY_TARGET <= HWY_AVX2) {
      AddWindow<kStep1, Gather<3, 1>, 3>(made);
      AddWindow<kStep2, Gather<3, 2>, 3>(made);
      AddWindow<kMoreStep1, Gather<5, 1>, HWY_MAX_BYTES == 64 ? 5 : 2>(made);
      AddWindow<kMoreStep2, Gather<5, 2>, HWY_MAX_BYTES == 64 ? 5 : 2>(made);
      made.sum_row[kSpread] = &SumRow<Spread, T>;
    }
    return made;
  }();
#undef DTNN_TABLE
  return &table;
}

DTNN_KERNEL_TABLES(Kernels, Table, (), ())
const Kernels<Bfloat16>* Bfloat16Table() { return Table<Bfloat16>(); }

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace dtnn::conv::depthwise
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dtnn::conv::depthwise {

DTNN_EXPORT_KERNEL_TABLES(Kernels, CpuKernels, (), ())
namespace {
HWY_EXPORT(Bfloat16Table);
}
template <>
const Kernels<Bfloat16>& CpuKernels<Bfloat16>() {
  return *HWY_DYNAMIC_DISPATCH(Bfloat16Table)();
}

}  // namespace dtnn::conv::depthwise
#endif  // HWY_ONCE
