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
#include "kernels/gemm/gemm_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dtnn::conv::depthwise {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using dtnn::HWY_NAMESPACE::LoadFirst;
using dtnn::HWY_NAMESPACE::Rectify;
using dtnn::HWY_NAMESPACE::StoreFirst;

template <typename T>
using Tag = hn::CappedTag<T, size_t(kBlock<T>)>;

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

// A vector of channels, or the first `count` elements of one.
template <class D, typename T = hn::TFromD<D>>
struct Part {
  D d;
  hn::Mask<D> exist;
  size_t count;

  HWY_INLINE hn::Vec<D> Load(const T* from) const { return LoadFirst(d, exist, count, from); }
  HWY_INLINE void Store(hn::Vec<D> v, T* to) const { StoreFirst(d, v, exist, count, to); }
};
template <class D, typename T = hn::TFromD<D>>
struct Whole {
  D d;

  HWY_INLINE hn::Vec<D> Load(const T* from) const { return hn::LoadU(d, from); }
  HWY_INLINE void Store(hn::Vec<D> v, T* to) const { hn::StoreU(v, d, to); }
};

// kV vectors of channels from `c` on, of kU results from `first` on.
template <typename T, int kU, int kV, class Access>
HWY_INLINE void SumTaps(const Sums<T>& s, int64_t first, int64_t c, const Access& access) {
  const Tag<T> d;
  using V = hn::Vec<decltype(d)>;
  const int64_t lanes = int64_t(hn::Lanes(d));
  // Copies, since what is written might be the struct, for all that compilers know.
  const int64_t in_step = s.in_step, addend_step = s.addend_step, out_step = s.out_step;
  const int64_t tap_rows = s.tap_rows, tap_columns = s.tap_columns;
  const TapSteps in_taps = s.in_taps, filter_taps = s.filter_taps;
  const T *in = s.in + first * in_step + c, *filter = s.filter + c;
  if (s.in_below != 0) {
    const T* const out = s.out + first * out_step + c;
    for (int u = 0; u < kU; ++u) {
      __builtin_prefetch(in + s.in_below + u * in_step, /*rw=*/0, /*locality=*/2);
      __builtin_prefetch(out + s.out_below + u * out_step, /*rw=*/1, /*locality=*/2);
    }
  }
  V sum[kV][kU];
  const auto each = [&](const auto& change) HWY_ATTR {
    Unroll<kV>([&](auto v) HWY_ATTR {
      Unroll<kU>([&](auto u) HWY_ATTR { change(sum[v][u], int64_t(v), int64_t(u)); });
    });
  };
  const auto each_by = [&](const T* by, const auto& change) HWY_ATTR {
    Unroll<kV>([&](auto v) HWY_ATTR {
      const V w = hn::LoadU(d, by + v * lanes);
      Unroll<kU>([&](auto u) HWY_ATTR { sum[v][u] = change(sum[v][u], w); });
    });
  };
  each([&](V& at, int64_t, int64_t) HWY_ATTR { at = hn::Zero(d); });
  for (int64_t r = 0; r < tap_rows; ++r, in += in_taps.row, filter += filter_taps.row) {
    const T *x = in, *w_at = filter;
    for (int64_t k = 0; k < tap_columns; ++k, x += in_taps.column, w_at += filter_taps.column) {
      Unroll<kV>([&](auto v) HWY_ATTR {
        const V w = hn::LoadU(d, w_at + v * lanes);
        Unroll<kU>([&](auto u) HWY_ATTR {
          sum[v][u] = hn::MulAdd(access.Load(x + u * in_step + v * lanes), w, sum[v][u]);
        });
      });
    }
  }
  if (s.scale != nullptr) each_by(s.scale + c, [](V a, V w) HWY_ATTR { return hn::Mul(a, w); });
  if (s.bias != nullptr) each_by(s.bias + c, [](V a, V w) HWY_ATTR { return hn::Add(a, w); });
  if (s.addend != nullptr) {
    const T* const addend = s.addend + first * addend_step + c;
    each([&](V& at, int64_t v, int64_t u)
             HWY_ATTR { at = hn::Add(at, access.Load(addend + u * addend_step + v * lanes)); });
  }
  if (s.relu) each([&](V& at, int64_t, int64_t) HWY_ATTR { at = Rectify(d, at); });
  T* const out = s.out + first * out_step + c;
  each([&](const V& at, int64_t v, int64_t u)
           HWY_ATTR { access.Store(at, out + u * out_step + v * lanes); });
}

// All channels of kU results from `first` on.
template <typename T, int kU>
HWY_NOINLINE void SumChannels(const Sums<T>& s, int64_t first) {
  const Tag<T> d;
  const int64_t lanes = int64_t(hn::Lanes(d));
  int64_t c = 0;
  for (; c + 2 * lanes <= s.channels; c += 2 * lanes) {
    SumTaps<T, kU, 2>(s, first, c, Whole<decltype(d)>{d});
  }
  if (c + lanes <= s.channels) {
    SumTaps<T, kU, 1>(s, first, c, Whole<decltype(d)>{d});
    c += lanes;
  }
  if (c < s.channels) {
    const auto count = size_t(s.channels - c);
    SumTaps<T, kU, 1>(s, first, c, Part<decltype(d)>{d, hn::FirstN(d, count), count});
  }
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
  Unroll<kR * kC>([&](auto i) HWY_ATTR { sums[i] = hn::LoadU(d, sums_at(i)); });
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
  Unroll<kR * kC>([&](auto i) HWY_ATTR { hn::StoreU(sums[i], d, sums_at(i)); });
}

// GCC calls long lambdas that are passed on, with all that they capture in memory.
#define DTNN_INLINE HWY_ATTR __attribute__((always_inline))

// The inputs of a result stay in registers for the next ones: a line that was driven out of the
// first cache, as by others at the distance of a pixel, comes back once and not for every tap.
template <typename T, int kR, int kC, int kV>
HWY_INLINE void SlideRows(const SlidingCorrelation<T>& job, int first_row) {
  const Tag<T> d;
  using V = hn::Vec<decltype(d)>;
  const Correlation<T>& c = job.c;
  const int64_t lanes = int64_t(hn::Lanes(d)), step = c.in.pixel, dy_step = c.dy.pixel;
  const int64_t in_row = c.in_taps.row;
  const auto width = uint64_t(job.width);
  const auto sums_at = [&](int r, int k, int v) {
    return c.sums + (first_row + r) * c.sums_taps.row + k * c.sums_taps.column + v * lanes;
  };
  const auto each = [&](const auto& body) DTNN_INLINE {
    Unroll<kR>([&](auto r) DTNN_INLINE { Unroll<kV>([&](auto v) DTNN_INLINE { body(r, v); }); });
  };
  V sums[kR][kC][kV], x[kR][kC][kV];
  each([&](auto r, auto v) DTNN_INLINE {
    Unroll<kC>([&](auto k) DTNN_INLINE { sums[r][k][v] = hn::LoadU(d, sums_at(r, k, v)); });
  });
  for (int64_t i = 0; i < c.results.images * c.results.rows; ++i) {
    const int64_t image = i / c.results.rows, row = i % c.results.rows;
    int64_t column = job.first;
    const T* in = c.in.At(image, row) + first_row * in_row + column * step;
    const T* dy = c.dy.At(image, row);
    Unroll<kC - 1>([&](auto k) DTNN_INLINE {
      const bool exists = uint64_t(column) < width;
      each([&](auto r, auto v) DTNN_INLINE {
        x[r][k][v] = exists ? hn::LoadU(d, in + r * in_row + v * lanes) : hn::Zero(d);
      });
      in += step, ++column;
    });
    // One result, the turn-th of kC: so many places further on in x lies what the next one reads.
    const auto add = [&](auto turn, auto load) DTNN_INLINE {
      V gradient[kV];
      Unroll<kV>([&](auto v) DTNN_INLINE { gradient[v] = hn::LoadU(d, dy + v * lanes); });
      each([&](auto r, auto v) DTNN_INLINE {
        x[r][(turn + kC - 1) % kC][v] = load(in + r * in_row + v * lanes);
        Unroll<kC>([&](auto k) DTNN_INLINE {
          V& sum = sums[r][k][v];
          sum = hn::MulAdd(x[r][(turn + k) % kC][v], gradient[v], sum);
        });
      });
      in += step, dy += dy_step, ++column;
    };
    for (int64_t left = c.results.columns; left > 0; left -= kC) {
      if (left >= kC && column >= 0 && column + kC <= job.width) {
        Unroll<kC>([&](auto turn) DTNN_INLINE {
          add(turn, [&](const T* from) DTNN_INLINE { return hn::LoadU(d, from); });
        });
        continue;
      }
      Unroll<kC>([&](auto turn) DTNN_INLINE {
        if (int64_t(turn) >= left) return;
        const bool exists = uint64_t(column) < width;
        add(turn,
            [&](const T* from) DTNN_INLINE { return exists ? hn::LoadU(d, from) : hn::Zero(d); });
      });
    }
  }
  each([&](auto r, auto v) DTNN_INLINE {
    Unroll<kC>([&](auto k) DTNN_INLINE { hn::StoreU(sums[r][k][v], d, sums_at(r, k, v)); });
  });
}

template <typename T, int kR, int kC>
void Slide(const SlidingCorrelation<T>& job) {
  constexpr int kVectors = int(kBlock<T> / int64_t(hn::MaxLanes(Tag<T>())));
  constexpr int kTogether = kVectors == 1 ? kR : 1;  // rows of taps that fit the registers
  for (int r = 0; r < kR; r += kTogether) SlideRows<T, kTogether, kC, kVectors>(job, r);
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
    CorrelateVector<T, kR, kC>(c, lane, Part<decltype(d)>{d, hn::FirstN(d, count), count});
  }
}

template <typename T>
const Kernels<T>* Table() {
  static_assert(kTaps == 3);
#define DTNN_TABLE(F)                                                                 \
  {                                                                                   \
    {&F<T, 1, 1>, &F<T, 1, 2>, &F<T, 1, 3>}, {&F<T, 2, 1>, &F<T, 2, 2>, &F<T, 2, 3>}, \
        {&F<T, 3, 1>, &F<T, 3, 2>, &F<T, 3, 3>},                                      \
  }
  static const Kernels<T> table = {
    .sum = &Sum<T>,
    .correlate = DTNN_TABLE(CorrelateTaps),
    .slide = DTNN_TABLE(Slide),
#if HWY_MAX_BYTES == 64
    .correlate_more = &CorrelateTaps<T, kMoreTaps, kMoreTaps>,
#else
    .correlate_more = nullptr,
#endif
  };
#undef DTNN_TABLE
  return &table;
}

const Kernels<float>* FloatTable() { return Table<float>(); }
const Kernels<double>* DoubleTable() { return Table<double>(); }

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace dtnn::conv::depthwise
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dtnn::conv::depthwise {
namespace {
HWY_EXPORT(FloatTable);
HWY_EXPORT(DoubleTable);
}  // namespace

template <>
const Kernels<float>& CpuKernels<float>() {
  return *HWY_DYNAMIC_DISPATCH(FloatTable)();
}
template <>
const Kernels<double>& CpuKernels<double>() {
  return *HWY_DYNAMIC_DISPATCH(DoubleTable)();
}

}  // namespace dtnn::conv::depthwise
#endif  // HWY_ONCE
