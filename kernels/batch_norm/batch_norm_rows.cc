// Batch normalisation of rows of channels: a lane is a column. The rows of a tile share the loads
// of their columns' coefficients and sums.

#include <algorithm>

#include "kernels/batch_norm/batch_norm_cpu.h"
#include "tensor/rounding.h"

// Everything up to HWY_ONCE is compiled once per instruction set.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/batch_norm/batch_norm_rows.cc"
#include "hwy/cache_control.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/batch_norm/formulas-inl.h"
#include "kernels/elementwise/transform-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dtnn {
namespace HWY_NAMESPACE {
namespace {

constexpr int64_t kSumTile = 4;
// Rows that are summed in WideOf the pass's dtype before double takes over.
constexpr int64_t kChunk = 128;

// Rows with gaps between them, as a part of a wider tensor has, are prefetched some thousand bytes
// before their turn: the processor's own prefetcher does not follow them. Without gaps this would
// only cost.
template <typename T>
int64_t RowsToPrefetch(const BatchNormPass& pass) {
  constexpr int64_t kPrefetchBytes = 8192;
  const int64_t widest = std::max({pass.x.pitch, pass.dy.pitch, pass.other.pitch, pass.out.pitch});
  return widest > pass.columns ? CeilDiv(kPrefetchBytes, widest * int64_t(sizeof(T))) : 0;
}
template <typename T>
HWY_INLINE void Prefetch(const Operand& operand, int64_t row, int64_t first, int64_t count) {
  constexpr int64_t kLine = 64 / int64_t(sizeof(T));
  const T* from = operand.At<const T>(row, first);
  for (int64_t j = 0; j < count; j += kLine) hwy::Prefetch(from + j);
}

// to[i] += from[i]
template <typename T>
void AddInDouble(const T* from, int64_t count, double* to) {
  const hn::ScalableTag<double> d;
  const hn::Rebind<T, decltype(d)> narrow;
  const int64_t lanes = int64_t(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    hn::Vec<decltype(d)> v;
    if constexpr (sizeof(T) == sizeof(double)) {
      v = hn::LoadU(d, from + i);
    } else {
      v = hn::PromoteTo(d, hn::LoadU(narrow, from + i));
    }
    hn::StoreU(hn::Add(hn::LoadU(d, to + i), v), d, to + i);
  }
  for (; i < count; ++i) to[i] += double(from[i]);
}

// Adds a tile of kSumTile rows, or a single row, from element (row, first) on to the sums of its
// columns.
template <bool kTile, typename T, class Step>
HWY_INLINE void SumTile(const BatchNormPass& pass, const Step& step, int64_t row, int64_t first,
                        int64_t count, Wide<T>* sum1, Wide<T>* sum2) {
  using Elements = batch_norm::Elements<T>;
  const Elements at = Elements::At(pass, row, first);
  const int64_t x_pitch = pass.x.pitch, dy_pitch = pass.dy.pitch;
  const int64_t other_pitch = pass.other.pitch, out_pitch = pass.out.pitch;
  ForEachVector<T>(count, [&](const auto& access, int64_t j) HWY_ATTR {
    const auto coefficients = step.Load(access, first + j);
    auto s1 = hn::Load(access.d, sum1 + j), s2 = hn::Load(access.d, sum2 + j);
    const auto add = [&](int64_t r) HWY_ATTR {
      const Elements row = {at.x + r * x_pitch, at.dy + r * dy_pitch, at.other + r * other_pitch,
                            at.out + r * out_pitch};
      step.Add(access, coefficients, row + j, s1, s2);
    };
    add(0);
    if constexpr (kTile) {
      static_assert(kSumTile == 4);
      add(1);
      add(2);
      add(3);
    }
    hn::Store(s1, access.d, sum1 + j);
    hn::Store(s2, access.d, sum2 + j);
  });
}

template <typename T>
void SumRowsOf(const BatchNormPass& pass, int64_t begin, int64_t end, int64_t first, int64_t count,
               double* total1, double* total2) {
  batch_norm::WithSum<T>(pass, [&](const auto& step) HWY_ATTR {
    HWY_ALIGN Wide<T> sum1[kBatchNormStripe], sum2[kBatchNormStripe];
    const bool reads_dy = pass.reads_dy(), reads_other = pass.reads_other();
    const int64_t ahead = RowsToPrefetch<T>(pass), far = ahead > 0 ? end : 0;
    for (int64_t chunk = begin; chunk < end; chunk += kChunk) {
      const int64_t chunk_end = std::min(end, chunk + kChunk);
      std::fill_n(sum1, kBatchNormStripe, Wide<T>(0));
      std::fill_n(sum2, kBatchNormStripe, Wide<T>(0));
      int64_t row = chunk;
      for (; row + kSumTile <= chunk_end; row += kSumTile) {
        for (int64_t next = row + ahead; next < std::min(far, row + ahead + kSumTile); ++next) {
          Prefetch<T>(pass.x, next, first, count);
          if (reads_dy) Prefetch<T>(pass.dy, next, first, count);
          if (reads_other) Prefetch<T>(pass.other, next, first, count);
        }
        SumTile<true, T>(pass, step, row, first, count, sum1, sum2);
      }
      for (; row < chunk_end; ++row) SumTile<false, T>(pass, step, row, first, count, sum1, sum2);
      AddInDouble(sum1, count, total1);
      AddInDouble(sum2, count, total2);
    }
  });
}

// Row by row: memory is read and written in its order, and the coefficients stay in the L1
// cache.
template <typename T>
void MapRowsOf(const BatchNormPass& pass, int64_t begin, int64_t end) {
  batch_norm::WithMap<T>(pass, [&](const auto& step) HWY_ATTR {
    const bool reads_dy = pass.reads_dy(), reads_other = pass.reads_other();
    const int64_t ahead = RowsToPrefetch<T>(pass), far = ahead > 0 ? end : 0;
    for (int64_t row = begin; row < end; ++row) {
      if (const int64_t next = row + ahead; next < far) {
        Prefetch<T>(pass.x, next, 0, pass.columns);
        if (reads_dy) Prefetch<T>(pass.dy, next, 0, pass.columns);
        if (reads_other) Prefetch<T>(pass.other, next, 0, pass.columns);
        Prefetch<T>(pass.out, next, 0, pass.columns);
      }
      const auto at = batch_norm::Elements<T>::At(pass, row, 0);
      ForEachVector<T>(pass.columns, [&](const auto& access, int64_t j) HWY_ATTR {
        step.Write(access, step.Load(access, j), at + j);
      });
    }
  });
}

void SumRows(const BatchNormPass& pass, int64_t begin, int64_t end, int64_t first, int64_t count,
             double* sum1, double* sum2) {
  DispatchCpuFloating(pass.dtype, [&](auto zero) HWY_ATTR {
    SumRowsOf<decltype(zero)>(pass, begin, end, first, count, sum1, sum2);
  });
}

void MapRows(const BatchNormPass& pass, int64_t begin, int64_t end) {
  DispatchCpuFloating(pass.dtype,
                      [&](auto zero) HWY_ATTR { MapRowsOf<decltype(zero)>(pass, begin, end); });
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace dtnn
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dtnn {
namespace {
HWY_EXPORT(SumRows);
HWY_EXPORT(MapRows);
}  // namespace

void BatchNormSumRows(const BatchNormPass& pass, int64_t begin, int64_t end, int64_t first,
                      int64_t count, double* sum1, double* sum2) {
  HWY_DYNAMIC_DISPATCH(SumRows)(pass, begin, end, first, count, sum1, sum2);
}
void BatchNormMapRows(const BatchNormPass& pass, int64_t begin, int64_t end) {
  HWY_DYNAMIC_DISPATCH(MapRows)(pass, begin, end);
}

}  // namespace dtnn
#endif  // HWY_ONCE
