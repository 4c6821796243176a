#include "kernels/conv/depthwise/depthwise_cpu.h"

#include <cstddef>
#include <type_traits>
#include <utility>

#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/conv/depthwise/depthwise_cpu.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/elementwise/relu-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dtnn::conv::depthwise {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using dtnn::HWY_NAMESPACE::Rectify;

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

// Of each result, a sum per row of taps: short chains of additions.
template <typename T, int kR, int kC>
void GatherTaps(const Gather<T>& g) {
  const Tag<T> d;
  using V = hn::Vec<decltype(d)>;
  // Copies, since what is written might be the struct, for all that compilers know.
  const int64_t columns = g.results.columns, tap = g.in_taps.column;
  const int64_t in_step = g.in.pixel, out_step = g.out.pixel, addend_step = g.addend.pixel;
  const bool relu = g.relu;
  for (int64_t lane = 0; lane < kBlock<T>; lane += int64_t(hn::Lanes(d))) {
    const V scale = g.scale != nullptr ? hn::LoadU(d, g.scale + lane) : hn::Set(d, T(1));
    const V bias = g.bias != nullptr ? hn::LoadU(d, g.bias + lane) : hn::Zero(d);
    V w[kR * kC];
    Unroll<kR * kC>([&](auto i) HWY_ATTR {
      const T* at = g.filter + i / kC * g.filter_taps.row + i % kC * g.filter_taps.column;
      w[i] = hn::Mul(scale, hn::LoadU(d, at + lane));
    });
    ForEachRow(g.results, [&](int64_t image, int64_t row) HWY_ATTR {
      const T* in[kR];
      Unroll<kR>([&](auto r) { in[r] = g.in.At(image, row) + r * g.in_taps.row + lane; });
      const T* addend = g.addend.At(image, row);
      T* out = g.out.At(image, row) + lane;
      for (int64_t c = 0; c < columns; ++c, out += out_step) {
        V sums[kR];
        Unroll<kR>([&](auto r) HWY_ATTR {
          const V first = hn::LoadU(d, in[r]);
          sums[r] = r == 0 ? hn::MulAdd(first, w[0], bias) : hn::Mul(first, w[r * kC]);
          Unroll<kC - 1>([&](auto k) HWY_ATTR {
            sums[r] = hn::MulAdd(hn::LoadU(d, in[r] + (k + 1) * tap), w[r * kC + k + 1], sums[r]);
          });
          in[r] += in_step;
        });
        V sum = sums[0];
        Unroll<kR - 1>([&](auto r) HWY_ATTR { sum = hn::Add(sum, sums[r + 1]); });
        if (addend != nullptr) {
          sum = hn::Add(sum, hn::LoadU(d, addend + lane));
          addend += addend_step;
        }
        if (relu) sum = Rectify(d, sum);
        hn::StoreU(sum, d, out);
      }
    });
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
    .gather = DTNN_TABLE(GatherTaps),
    .correlate = DTNN_TABLE(CorrelateTaps),
#if HWY_MAX_BYTES == 64
    .gather_more = &GatherTaps<T, kMoreTaps, kMoreTaps>,
    .correlate_more = &CorrelateTaps<T, kMoreTaps, kMoreTaps>,
#else
    .gather_more = nullptr,
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
