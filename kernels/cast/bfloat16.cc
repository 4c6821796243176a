#include "kernels/cast/bfloat16.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cast/bfloat16.cc"
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/elementwise/bfloat16-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dtnn {
namespace HWY_NAMESPACE {
namespace {

// The last vector ends with the last element, though others may be done twice; fewer than a vector
// one by one.
template <class Vector, class One>
HWY_INLINE void ForEachVector(int64_t count, int64_t lanes, const Vector& vector, const One& one) {
  if (count < lanes) {
    for (int64_t i = 0; i < count; ++i) one(i);
    return;
  }
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) vector(i);
  if (i < count) vector(count - lanes);
}

void WidenAll(const Bfloat16* from, int64_t count, float* to) {
  const hn::ScalableTag<float> d;
  const Halves<decltype(d)> halves;
  ForEachVector(
      count, int64_t(hn::Lanes(d)),
      [&](int64_t i) HWY_ATTR {
        hn::StoreU(HWY_NAMESPACE::Widen(d, hn::LoadU(halves, Bits(from + i))), d, to + i);
      },
      [&](int64_t i) { to[i] = float(from[i]); });
}

void RoundAll(const float* from, int64_t count, Bfloat16* to) {
  const hn::ScalableTag<float> d;
  const Halves<decltype(d)> halves;
  ForEachVector(
      count, int64_t(hn::Lanes(d)),
      [&](int64_t i) HWY_ATTR {
        hn::StoreU(HWY_NAMESPACE::Round(d, hn::LoadU(d, from + i)), halves, Bits(to + i));
      },
      [&](int64_t i) { to[i] = Bfloat16(from[i]); });
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace dtnn
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dtnn {
namespace {
HWY_EXPORT(WidenAll);
HWY_EXPORT(RoundAll);
}  // namespace

void Widen(const Bfloat16* from, int64_t count, float* to) {
  HWY_DYNAMIC_DISPATCH(WidenAll)(from, count, to);
}
void Round(const float* from, int64_t count, Bfloat16* to) {
  HWY_DYNAMIC_DISPATCH(RoundAll)(from, count, to);
}

}  // namespace dtnn
#endif  // HWY_ONCE
