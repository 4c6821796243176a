// Batch normalisation of planes of one channel each: every lane has the same coefficients, and four
// independent vectors of sums go through a plane.

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

// Elements that are summed in WideOf the pass's dtype before double takes over: 64 floats in each
// lane of each vector of sums, since every addition may round.
constexpr int64_t kChunk = 64 * 4 * int64_t(hn::MaxLanes(hn::ScalableTag<float>()));

// Adds `count` consecutive elements.
template <typename T, class Step, class Coefficients>
HWY_INLINE void SumRun(const Step& step, const Coefficients& c, batch_norm::Elements<T> at,
                       int64_t count, Wide<T>* sum1, Wide<T>* sum2) {
  const hn::ScalableTag<Wide<T>> d;
  const Whole<decltype(d)> whole{d};
  auto a1 = hn::Load(d, sum1), b1 = hn::Zero(d), c1 = b1, d1 = b1;
  auto a2 = hn::Load(d, sum2), b2 = b1, c2 = b1, d2 = b1;
  const int64_t lanes = int64_t(hn::Lanes(d));
  int64_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes, at = at + 4 * lanes) {
    step.Add(whole, c, at, a1, a2);
    step.Add(whole, c, at + lanes, b1, b2);
    step.Add(whole, c, at + 2 * lanes, c1, c2);
    step.Add(whole, c, at + 3 * lanes, d1, d2);
  }
  // Fewer than four vectors: one for each of the others, and what is left.
  const int64_t vectors = (count - i) / lanes, rest = count % lanes;
  if (vectors > 0) step.Add(whole, c, at, b1, b2);
  if (vectors > 1) step.Add(whole, c, at + lanes, c1, c2);
  if (vectors > 2) step.Add(whole, c, at + 2 * lanes, d1, d2);
  if (rest > 0) step.Add(Part<decltype(d)>{d, size_t(rest)}, c, at + vectors * lanes, a1, a2);
  hn::Store(hn::Add(hn::Add(a1, b1), hn::Add(c1, d1)), d, sum1);
  hn::Store(hn::Add(hn::Add(a2, b2), hn::Add(c2, d2)), d, sum2);
}

template <typename T>
double TotalOf(const T* sums) {
  const hn::ScalableTag<T> d;
  return double(hn::GetLane(hn::SumOfLanes(d, hn::Load(d, sums))));
}

// Image by image, so that what is read follows in memory for all channels.
template <typename T>
void SumPlanesOf(const BatchNormPass& pass, int64_t first, int64_t channels, int64_t begin,
                 int64_t end, double* total1, double* total2) {
  batch_norm::WithSum<T>(pass, [&](const auto& step) HWY_ATTR {
    const hn::ScalableTag<Wide<T>> d;
    HWY_ALIGN Wide<T> sums[2][kBatchNormTogether][HWY_MAX_BYTES / sizeof(Wide<T>)];
    for (int64_t at = 0; at < pass.columns; at += kChunk) {
      const int64_t count = std::min(kChunk, pass.columns - at), images = kChunk / count;
      for (int64_t next = begin; next < end; next += images) {
        std::fill_n(**sums, sizeof(sums) / sizeof(***sums), Wide<T>(0));
        for (int64_t image = next; image < std::min(end, next + images); ++image) {
          auto run = batch_norm::Elements<T>::At(pass, image, first * pass.columns + at);
          for (int64_t k = 0; k < channels; ++k, run = run + pass.columns) {
            const auto c = step.Load(batch_norm::Same<decltype(d)>{d}, first + k);
            SumRun<T>(step, c, run, count, sums[0][k], sums[1][k]);
          }
        }
        for (int64_t k = 0; k < channels; ++k) {
          total1[k] += TotalOf(sums[0][k]);
          total2[k] += TotalOf(sums[1][k]);
        }
      }
    }
  });
}

template <typename T>
void MapPlanesOf(const BatchNormPass& pass, int64_t begin, int64_t end) {
  batch_norm::WithMap<T>(pass, [&](const auto& step) HWY_ATTR {
    const hn::ScalableTag<Wide<T>> d;
    int64_t image = begin / pass.channels, channel = begin % pass.channels;
    for (int64_t plane = begin; plane < end; ++plane) {
      const auto c = step.Load(batch_norm::Same<decltype(d)>{d}, channel);
      const auto at = batch_norm::Elements<T>::At(pass, image, channel * pass.columns);
      ForEachVector<T>(pass.columns, [&](const auto& access, int64_t i)
                                         HWY_ATTR { step.Write(access, c, at + i); });
      if (++channel == pass.channels) {
        channel = 0;
        ++image;
      }
    }
  });
}

void SumPlanes(const BatchNormPass& pass, int64_t first, int64_t channels, int64_t begin,
               int64_t end, double* sum1, double* sum2) {
  DispatchCpuFloating(pass.dtype, [&](auto zero) HWY_ATTR {
    SumPlanesOf<decltype(zero)>(pass, first, channels, begin, end, sum1, sum2);
  });
}

void MapPlanes(const BatchNormPass& pass, int64_t begin, int64_t end) {
  DispatchCpuFloating(pass.dtype,
                      [&](auto zero) HWY_ATTR { MapPlanesOf<decltype(zero)>(pass, begin, end); });
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

void BatchNormSumPlanes(const BatchNormPass& pass, int64_t first, int64_t channels, int64_t begin,
                        int64_t end, double* sum1, double* sum2) {
  HWY_DYNAMIC_DISPATCH(SumPlanes)(pass, first, channels, begin, end, sum1, sum2);
}
void BatchNormMapPlanes(const BatchNormPass& pass, int64_t begin, int64_t end) {
  HWY_DYNAMIC_DISPATCH(MapPlanes)(pass, begin, end);
}

}  // namespace dtnn
#endif  // HWY_ONCE
