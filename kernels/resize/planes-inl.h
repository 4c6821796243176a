// Rows of a plane that is resized: include after hwy/highway.h, once per target.
//
// Sums along a row are made once, a vector of outputs at a time, and serve all rows of the result
// that they are in; those are sums of vectors. Each output is the same sum, in the same order, as
// if it were made by itself.

#if defined(DTNN_KERNELS_RESIZE_PLANES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DTNN_KERNELS_RESIZE_PLANES_INL_H_
#undef DTNN_KERNELS_RESIZE_PLANES_INL_H_
#else
#define DTNN_KERNELS_RESIZE_PLANES_INL_H_
#endif

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "hwy/highway.h"
#include "kernels/elementwise/transform-inl.h"
#include "kernels/resize/taps.h"

HWY_BEFORE_NAMESPACE();
namespace dtnn {
namespace HWY_NAMESPACE {
namespace {

// The elements of a row for a few outputs at once, from vectors of the row: `places` are lanes of
// the two vectors from `from` on, or of the first alone.
template <class D, typename T>
HWY_INLINE hn::Vec<D> LookUp(D d, const T* from, hn::Vec<hn::RebindToSigned<D>> places, bool both) {
  const hn::RebindToSigned<D> whole;
  const auto lanes = hn::Set(whole, hn::TFromD<decltype(whole)>(hn::Lanes(d)));
  const auto within = hn::And(places, hn::Sub(lanes, hn::Set(whole, 1)));
  const auto indices = hn::IndicesFromVec(d, within);
  const auto first = hn::TableLookupLanes(LoadAll(d, from), indices);
  if (!both) return first;
  const auto second = hn::TableLookupLanes(LoadAll(d, from + hn::Lanes(d)), indices);
  return hn::IfThenElse(hn::RebindMask(d, hn::Lt(places, lanes)), first, second);
}

// Sums along a row for the outputs from `begin` on: of a vector of outputs. False: the elements
// that it is made of do not lie within two vectors.
template <class D, typename T>
HWY_INLINE bool SumVector(D d, const resize::ColumnTable& table, const T* from, int64_t begin,
                          hn::TFromD<D>* to) {
  using W = hn::TFromD<D>;
  const hn::RebindToSigned<D> whole;
  const hn::Rebind<int32_t, D> stored;
  const int64_t lanes = int64_t(hn::Lanes(d)), last = table.from - 2 * lanes;
  if (last < 0) return false;
  const auto counts = LoadAll(d, table.Counts<W>() + begin);
  auto sum = hn::Zero(d);
  for (int64_t tap = 0; tap < table.most; ++tap) {
    const int32_t* const places = table.places.data() + tap * table.to + begin;
    const int64_t base = std::min<int64_t>(places[0], last), end = places[lanes - 1] - base;
    if (end >= 2 * lanes) return false;
    hn::Vec<decltype(whole)> at;
    if constexpr (sizeof(W) == sizeof(int32_t)) {
      at = hn::LoadU(stored, places);
    } else {
      at = hn::PromoteTo(whole, hn::LoadU(stored, places));
    }
    at = hn::Sub(at, hn::Set(whole, hn::TFromD<decltype(whole)>(base)));
    const auto product = hn::Mul(LookUp(d, from + base, at, end >= lanes),
                                 LoadAll(d, table.Factors<W>() + tap * table.to + begin));
    sum = hn::IfThenElse(hn::Gt(counts, hn::Set(d, W(tap))), hn::Add(sum, product), sum);
  }
  StoreAll(sum, d, to);
  return true;
}

// Sums along a row for outputs [begin, end).
template <typename T>
void SumColumns(const resize::Pass& pass, const T* from, int64_t begin, int64_t end, Wide<T>* to) {
  using W = Wide<T>;
  const hn::ScalableTag<W> d;
  const int64_t lanes = int64_t(hn::Lanes(d));
  for (int64_t c = begin; c < end;) {
    const int64_t block = std::min(lanes, end - c);
    if (block == lanes && SumVector(d, pass.table, from, c, to + (c - begin))) {
      c += lanes;
      continue;
    }
    for (const int64_t block_end = c + block; c < block_end; ++c) {
      const resize::Taps taps = pass.columns.taps[size_t(c)];
      const W* const factors = pass.columns.FactorsOf<W>(taps);
      W sum = 0;
      for (int64_t tap = 0; tap < taps.count; ++tap)
        sum += W(from[taps.first + tap]) * factors[tap];
      to[c - begin] = sum;
    }
  }
}

template <typename W>
struct Scaled {
  W factor;
  template <class D, class V>
  HWY_INLINE V operator()(D d, V of_row, V sum) const {
    return hn::Add(sum, hn::Mul(of_row, hn::Set(d, factor)));
  }
};

// Some rows of a plane, in strips of columns whose sums along the latest rows stay in the cache.
template <typename T>
class PlaneStrip {
 public:
  using W = Wide<T>;
  static constexpr int64_t kColumns = 256;

  PlaneStrip(const resize::Pass& pass, const T* from, T* to, int64_t column, bool accumulate)
      : pass_(pass),
        accumulate_(accumulate),
        from_(from),
        to_(to + column),
        begin_(column),
        end_(std::min(column + kColumns, pass.columns.to())) {
    std::fill(std::begin(rows_kept_), std::end(rows_kept_), -1);
  }

  void Run(int64_t row) {
    const resize::Axis& rows = pass_.rows;
    const resize::Taps taps = rows.taps[size_t(row)];
    const W* const factors = rows.FactorsOf<W>(taps);
    const int64_t count = end_ - begin_;
    T* const to = to_ + row * pass_.columns.to();
    if (accumulate_) {
      Transform(Copied(), count, sums_, static_cast<const T*>(to));
    } else {
      std::fill_n(sums_, count, W(0));
    }
    for (int64_t tap = 0; tap < taps.count; ++tap) {
      Transform(Scaled<W>{factors[tap]}, count, sums_, SumsAlong(taps.first + tap),
                static_cast<const W*>(sums_));
    }
    Transform(Copied(), count, to, static_cast<const W*>(sums_));
  }

 private:
  static constexpr int64_t kRows = 8;

  const W* SumsAlong(int64_t row) {
    W* const sums = kept_[row % kRows];
    if (rows_kept_[row % kRows] != row) {
      SumColumns(pass_, from_ + row * pass_.columns.from, begin_, end_, sums);
      rows_kept_[row % kRows] = row;
    }
    return sums;
  }

  const resize::Pass& pass_;
  const bool accumulate_;
  const T* const from_;
  T* const to_;
  const int64_t begin_, end_;
  int64_t rows_kept_[kRows];
  W sums_[kColumns];
  W kept_[kRows][kColumns];
};

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace dtnn
HWY_AFTER_NAMESPACE();

#endif  // DTNN_KERNELS_RESIZE_PLANES_INL_H_
