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

template <typename T, int kR, int kC>
void CorrelateTaps(const Correlation<T>& c) {
  const Tag<T> d;
  using V = hn::Vec<decltype(d)>;
  const int64_t step = c.in.pixel, tap = c.in_taps.column;
  for (int64_t lane = 0; lane < kBlock<T>; lane += int64_t(hn::Lanes(d))) {
    const auto sums_at = [&](int i) {
      return c.sums + i / kC * c.sums_taps.row + i % kC * c.sums_taps.column + lane;
    };
    V sums[kR * kC];
    Unroll<kR * kC>([&](auto i) HWY_ATTR { sums[i] = hn::LoadU(d, sums_at(i)); });
    ForEachRow(c.results, [&](int64_t image, int64_t row) HWY_ATTR {
      const T* in[kR];
      Unroll<kR>([&](auto r) { in[r] = c.in.At(image, row) + r * c.in_taps.row + lane; });
      const T* dy = c.dy.At(image, row) + lane;
      for (int64_t i = 0; i < c.results.columns; ++i, dy += c.dy.pixel) {
        const V gradient = hn::LoadU(d, dy);
        Unroll<kR>([&](auto r) HWY_ATTR {
          Unroll<kC>([&](auto k) HWY_ATTR {
            V& sum = sums[r * kC + k];
            sum = hn::MulAdd(hn::LoadU(d, in[r] + k * tap), gradient, sum);
          });
          in[r] += step;
        });
      }
    });
    Unroll<kR * kC>([&](auto i) HWY_ATTR { hn::StoreU(sums[i], d, sums_at(i)); });
  }
}

template <typename T>
void Copy(const Counts& pixels, const Images<const T>& from, const Images<T>& to) {
  const Tag<T> d;
  ForEachRow(pixels, [&](int64_t image, int64_t row) HWY_ATTR {
    const T* source = from.At(image, row);
    T* target = to.At(image, row);
    for (int64_t c = 0; c < pixels.columns; ++c, source += from.pixel, target += to.pixel) {
      for (int64_t lane = 0; lane < kBlock<T>; lane += int64_t(hn::Lanes(d))) {
        hn::StoreU(hn::LoadU(d, source + lane), d, target + lane);
      }
    }
  });
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
#if HWY_MAX_BYTES == 64
    .correlate_more = &CorrelateTaps<T, kMoreTaps, kMoreTaps>,
#else
    .correlate_more = nullptr,
#endif
    .copy = &Copy<T>,
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
