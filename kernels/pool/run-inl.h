// Elements that follow each other: the windows of a plane that span whole rows. Included once per
// target.

#if defined(DTNN_KERNELS_POOL_RUN_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DTNN_KERNELS_POOL_RUN_INL_H_
#undef DTNN_KERNELS_POOL_RUN_INL_H_
#else
#define DTNN_KERNELS_POOL_RUN_INL_H_
#endif

#include "hwy/highway.h"
#include "kernels/elementwise/transform-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dtnn {
namespace HWY_NAMESPACE {

// The sum of `count` elements that follow each other.
template <typename T>
HWY_INLINE T SumRun(const T* x, int64_t count) {
  const hn::ScalableTag<T> d;
  auto sum = hn::Zero(d);
  ForEachVector<T>(count, [&](const auto& access, int64_t i)
                              HWY_ATTR { sum = hn::Add(sum, access.Load(x + i)); });
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

// Adds `share` to each of them.
template <typename T>
HWY_INLINE void AddToRun(T share, T* x, int64_t count) {
  ForEachVector<T>(count, [&](const auto& access, int64_t i) HWY_ATTR {
    access.Store(hn::Add(access.Load(x + i), hn::Set(access.d, share)), x + i);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace dtnn
HWY_AFTER_NAMESPACE();

#endif  // DTNN_KERNELS_POOL_RUN_INL_H_
