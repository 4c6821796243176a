// Batch normalisation of planes of one channel each: every lane has the same coefficients, and four
// independent vectors of sums go through all images of a channel.

#include <algorithm>

#include "kernels/batch_norm/batch_norm_cpu.h"

// Everything up to HWY_ONCE is compiled once per instruction set.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/batch_norm/batch_norm_planes.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/batch_norm/formulas-inl.h"
#include "kernels/elementwise/transform-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dtnn {
namespace HWY_NAMESPACE {
namespace {

// Elements that are summed in the pass's dtype before double takes over.
constexpr int64_t kChunk = 4096;

template <typename T>
struct Sums {
  using V = hn::Vec<hn::ScalableTag<T>>;
  V s0, s1, s2, s3;

  HWY_INLINE void Clear() { s0 = s1 = s2 = s3 = hn::Zero(hn::ScalableTag<T>()); }
  HWY_INLINE double Total() const {
    const hn::ScalableTag<T> d;
    return double(hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(s0, s1), hn::Add(s2, s3)))));
  }
};

// Adds `count` consecutive elements.
template <typename T, class Step, class Coefficients>
HWY_INLINE void SumRun(const Step& step, const Coefficients& c, const T* x, const T* dy,
                       int64_t count, Sums<T>& sum1, Sums<T>& sum2) {
  const hn::ScalableTag<T> d;
  const Whole<decltype(d)> whole{d};
  const int64_t lanes = int64_t(hn::Lanes(d));
  int64_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes, x += 4 * lanes, dy += 4 * lanes) {
    step.Add(whole, c, x, dy, sum1.s0, sum2.s0);
    step.Add(whole, c, x + lanes, dy + lanes, sum1.s1, sum2.s1);
    step.Add(whole, c, x + 2 * lanes, dy + 2 * lanes, sum1.s2, sum2.s2);
    step.Add(whole, c, x + 3 * lanes, dy + 3 * lanes, sum1.s3, sum2.s3);
  }
  // Fewer than four vectors: one for each of the others, and what is left.
  const int64_t vectors = (count - i) / lanes, rest = count % lanes;
  if (vectors > 0) step.Add(whole, c, x, dy, sum1.s1, sum2.s1);
  if (vectors > 1) step.Add(whole, c, x + lanes, dy + lanes, sum1.s2, sum2.s2);
  if (vectors > 2) step.Add(whole, c, x + 2 * lanes, dy + 2 * lanes, sum1.s3, sum2.s3);
  if (rest > 0) {
    const int64_t at = vectors * lanes;
    step.Add(Part<decltype(d)>{d, size_t(rest)}, c, x + at, dy + at, sum1.s0, sum2.s0);
  }
}

template <typename T>
void SumPlanesOf(const BatchNormPass& pass, int64_t channel, int64_t begin, int64_t end,
                 double* total1, double* total2) {
  batch_norm::WithSum<T>(pass, [&](const auto& step) HWY_ATTR {
    const hn::ScalableTag<T> d;
    const auto c = step.Load(batch_norm::Same<decltype(d)>{d}, channel);
    Sums<T> sum1, sum2;
    sum1.Clear();
    sum2.Clear();
    int64_t pending = 0;
    for (int64_t image = begin; image < end; ++image) {
      for (int64_t at = 0; at < pass.columns; at += kChunk) {
        const int64_t count = std::min(kChunk, pass.columns - at);
        if (pending + count > kChunk) {
          *total1 += sum1.Total();
          *total2 += sum2.Total();
          sum1.Clear();
          sum2.Clear();
          pending = 0;
        }
        const int64_t column = channel * pass.columns + at;
        SumRun(step, c, pass.x.At<const T>(image, column), pass.dy.At<const T>(image, column),
               count, sum1, sum2);
        pending += count;
      }
    }
    *total1 += sum1.Total();
    *total2 += sum2.Total();
  });
}

template <typename T>
void MapPlanesOf(const BatchNormPass& pass, int64_t begin, int64_t end) {
  batch_norm::WithMap<T>(pass, [&](const auto& step) HWY_ATTR {
    const hn::ScalableTag<T> d;
    for (int64_t plane = begin; plane < end; ++plane) {
      const int64_t image = plane / pass.channels, channel = plane % pass.channels;
      const auto c = step.Load(batch_norm::Same<decltype(d)>{d}, channel);
      const int64_t column = channel * pass.columns;
      const T* x = pass.x.At<const T>(image, column);
      const T* dy = pass.dy.At<const T>(image, column);
      T* out = pass.out.At<T>(image, column);
      ForEachVector<T>(pass.columns, [&](const auto& access, int64_t i) HWY_ATTR {
        step.Write(access, c, x + i, dy + i, out + i);
      });
    }
  });
}

void SumPlanes(const BatchNormPass& pass, int64_t channel, int64_t begin, int64_t end, double* sum1,
               double* sum2) {
  if (pass.dtype == DType::kFloat32) {
    SumPlanesOf<float>(pass, channel, begin, end, sum1, sum2);
  } else {
    SumPlanesOf<double>(pass, channel, begin, end, sum1, sum2);
  }
}

void MapPlanes(const BatchNormPass& pass, int64_t begin, int64_t end) {
  if (pass.dtype == DType::kFloat32) {
    MapPlanesOf<float>(pass, begin, end);
  } else {
    MapPlanesOf<double>(pass, begin, end);
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace dtnn
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dtnn {
namespace {
HWY_EXPORT(SumPlanes);
HWY_EXPORT(MapPlanes);
}  // namespace

void BatchNormSumPlanes(const BatchNormPass& pass, int64_t channel, int64_t begin, int64_t end,
                        double* sum1, double* sum2) {
  HWY_DYNAMIC_DISPATCH(SumPlanes)(pass, channel, begin, end, sum1, sum2);
}
void BatchNormMapPlanes(const BatchNormPass& pass, int64_t begin, int64_t end) {
  HWY_DYNAMIC_DISPATCH(MapPlanes)(pass, begin, end);
}

}  // namespace dtnn
#endif  // HWY_ONCE
