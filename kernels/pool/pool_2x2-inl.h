// Rows of 2x2 windows with stride 2 and no padding. A row of outputs comes from two rows of inputs,
// in which horizontal neighbours are single elements (NCHW, or one channel) or pixels of half a
// vector (NHWC with few channels): `Pairs` says how to part them. Included once per target.

#if defined(DTNN_KERNELS_POOL_POOL_2X2_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DTNN_KERNELS_POOL_POOL_2X2_INL_H_
#undef DTNN_KERNELS_POOL_POOL_2X2_INL_H_
#else
#define DTNN_KERNELS_POOL_POOL_2X2_INL_H_
#endif

#include "hwy/highway.h"
#include "kernels/elementwise/transform-inl.h"
#include "kernels/pool/winners-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dtnn {
namespace HWY_NAMESPACE {

// The elements of `lo` and `hi`, in this order, are pairs of single elements ...
struct ElementPairs {
  template <class D, class V = hn::Vec<D>>
  HWY_INLINE static void Split(D d, V lo, V hi, V& even, V& odd) {
#if HWY_TARGET == HWY_SCALAR
    (void)d;
    even = lo;
    odd = hi;
#else
    even = hn::ConcatEven(d, hi, lo);
    odd = hn::ConcatOdd(d, hi, lo);
#endif
  }
  template <class D, class V = hn::Vec<D>>
  HWY_INLINE static void Join(D d, V even, V odd, hn::TFromD<D>* to) {
#if HWY_TARGET == HWY_SCALAR
    hn::Store(even, d, to);
    hn::Store(odd, d, to + 1);
#else
    hn::StoreInterleaved2(even, odd, d, to);
#endif
  }
};

#if HWY_TARGET != HWY_SCALAR
// ... or each of them is a pair of half vectors.
struct HalfPairs {
  template <class D, class V = hn::Vec<D>>
  HWY_INLINE static void Split(D d, V lo, V hi, V& even, V& odd) {
    even = hn::ConcatLowerLower(d, hi, lo);
    odd = hn::ConcatUpperUpper(d, hi, lo);
  }
  template <class D, class V = hn::Vec<D>>
  HWY_INLINE static void Join(D d, V even, V odd, hn::TFromD<D>* to) {
    hn::StoreU(hn::ConcatLowerLower(d, odd, even), d, to);
    hn::StoreU(hn::ConcatUpperUpper(d, odd, even), d, to + hn::Lanes(d));
  }
};
#else
using HalfPairs = ElementPairs;  // never run: a vector of one element holds no two pixels
#endif

// The elements that the `access.count()` outputs come from, parted.
template <class Pairs, class D, class V = hn::Vec<D>>
HWY_INLINE void LoadPairs(const Whole<D>& whole, const hn::TFromD<D>* from, V& even, V& odd) {
  const D d = whole.d;
  Pairs::Split(d, hn::LoadU(d, from), hn::LoadU(d, from + hn::Lanes(d)), even, odd);
}
template <class Pairs, class D, class V = hn::Vec<D>>
HWY_INLINE void LoadPairs(const Part<D>& part, const hn::TFromD<D>* from, V& even, V& odd) {
  const D d = part.d;
  const size_t low = std::min(hn::Lanes(d), 2 * part.lanes), high = 2 * part.lanes - low;
  const V hi = high > 0 ? LoadFirst(d, from + low, high) : hn::Zero(d);
  const V lo = low == hn::Lanes(d) ? hn::LoadU(d, from) : LoadFirst(d, from, low);
  Pairs::Split(d, lo, hi, even, odd);
}

template <class Pairs, class D, class V = hn::Vec<D>>
HWY_INLINE void StorePairs(const Whole<D>& whole, V even, V odd, bool accumulate,
                           hn::TFromD<D>* to) {
  const D d = whole.d;
  if (!accumulate) return Pairs::Join(d, even, odd, to);
  V old_even, old_odd;
  LoadPairs<Pairs>(whole, to, old_even, old_odd);
  Pairs::Join(d, hn::Add(old_even, even), hn::Add(old_odd, odd), to);
}
template <class Pairs, class D, class V = hn::Vec<D>>
HWY_INLINE void StorePairs(const Part<D>& part, V even, V odd, bool accumulate, hn::TFromD<D>* to) {
  const D d = part.d;
  HWY_ALIGN hn::TFromD<D> pairs[2 * HWY_MAX_BYTES / sizeof(hn::TFromD<D>)];
  if (accumulate) {
    V old_even, old_odd;
    LoadPairs<Pairs>(part, to, old_even, old_odd);
    even = hn::Add(old_even, even);
    odd = hn::Add(old_odd, odd);
  }
  Pairs::Join(d, even, odd, pairs);
  const size_t low = std::min(hn::Lanes(d), 2 * part.lanes), high = 2 * part.lanes - low;
  if (low == hn::Lanes(d)) {
    hn::StoreU(hn::LoadU(d, pairs), d, to);
  } else {
    StoreFirst(hn::LoadU(d, pairs), d, to, low);
  }
  if (high > 0) StoreFirst(hn::LoadU(d, pairs + low), d, to + low, high);
}

// `count` outputs at `y` from 2 * count inputs at `top` and at `bottom`. winners may be null.
template <class Pairs, class D, typename T = hn::TFromD<D>>
HWY_INLINE void MaxRow2x2(D d, const T* top, const T* bottom, int64_t count, T* y,
                          uint8_t* winners) {
  using V = hn::Vec<D>;
  ForEachVectorOf(d, count, [&](const auto& access, int64_t i) HWY_ATTR {
    V best, taps[3], number = hn::Zero(d);
    LoadPairs<Pairs>(access, top + 2 * i, best, taps[0]);
    LoadPairs<Pairs>(access, bottom + 2 * i, taps[1], taps[2]);
    for (int k = 0; k < 3; ++k) {
      const auto better = hn::Or(hn::Gt(taps[k], best), hn::IsNaN(taps[k]));
      best = hn::IfThenElse(better, taps[k], best);
      number = hn::IfThenElse(better, hn::Set(d, T(k + 1)), number);
    }
    access.Store(best, y + i);
    if (winners != nullptr) StoreWinners<uint8_t>(access, number, winners, i);
  });
}

template <class Pairs, class D, typename T = hn::TFromD<D>>
HWY_INLINE void MeanRow2x2(D d, const T* top, const T* bottom, int64_t count, T* y) {
  using V = hn::Vec<D>;
  ForEachVectorOf(d, count, [&](const auto& access, int64_t i) HWY_ATTR {
    V a, b, c, e;
    LoadPairs<Pairs>(access, top + 2 * i, a, b);
    LoadPairs<Pairs>(access, bottom + 2 * i, c, e);
    const V sum = hn::Add(hn::Add(hn::Add(a, b), c), e);
    access.Store(hn::Mul(sum, hn::Set(d, T(0.25))), y + i);
  });
}

// The gradients of 2 * count inputs at `top` and at `bottom`.
template <class Pairs, class D, typename T = hn::TFromD<D>>
HWY_INLINE void MaxRow2x2Gradient(D d, const T* dy, const uint8_t* winners, int64_t count,
                                  bool accumulate, T* top, T* bottom) {
  ForEachVectorOf(d, count, [&](const auto& access, int64_t i) HWY_ATTR {
    const auto gradient = access.Load(dy + i);
    const auto number = LoadWinners<uint8_t>(access, winners, i);
    const auto of = [&](int k) HWY_ATTR {
      return hn::IfThenElseZero(hn::Eq(number, hn::Set(d, T(k))), gradient);
    };
    StorePairs<Pairs>(access, of(0), of(1), accumulate, top + 2 * i);
    StorePairs<Pairs>(access, of(2), of(3), accumulate, bottom + 2 * i);
  });
}

template <class Pairs, class D, typename T = hn::TFromD<D>>
HWY_INLINE void MeanRow2x2Gradient(D d, const T* dy, int64_t count, bool accumulate, T* top,
                                   T* bottom) {
  ForEachVectorOf(d, count, [&](const auto& access, int64_t i) HWY_ATTR {
    const auto gradient = hn::Mul(access.Load(dy + i), hn::Set(d, T(0.25)));
    StorePairs<Pairs>(access, gradient, gradient, accumulate, top + 2 * i);
    StorePairs<Pairs>(access, gradient, gradient, accumulate, bottom + 2 * i);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace dtnn
HWY_AFTER_NAMESPACE();

#endif  // DTNN_KERNELS_POOL_POOL_2X2_INL_H_
