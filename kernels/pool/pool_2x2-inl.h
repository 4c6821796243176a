// 2x2 windows with stride 2 and no padding. A row of outputs comes from two rows of inputs, in
// which horizontal neighbours are single elements (NCHW, or one channel) or pixels of half a vector
// (NHWC with few channels): `Pairs` says how to part them. Wider pixels go one by one. Included
// once per target.

#if defined(DTNN_KERNELS_POOL_POOL_2X2_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DTNN_KERNELS_POOL_POOL_2X2_INL_H_
#undef DTNN_KERNELS_POOL_POOL_2X2_INL_H_
#else
#define DTNN_KERNELS_POOL_POOL_2X2_INL_H_
#endif

#include "hwy/cache_control.h"
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

// The first of the largest of four elements, taken in order, and its number.
template <class D, class V = hn::Vec<D>, typename T = hn::TFromD<D>>
HWY_INLINE void MaxOfFour(D d, V a, V b, V c, V e, V& best, V& number) {
  best = a;
  number = hn::Zero(d);
  const auto consider = [&](V v, T k) HWY_ATTR {
    const auto better = hn::Or(hn::Gt(v, best), hn::IsNaN(v));
    best = hn::IfThenElse(better, v, best);
    number = hn::IfThenElse(better, hn::Set(d, k), number);
  };
  consider(b, 1);
  consider(c, 2);
  consider(e, 3);
}
template <class D, class V = hn::Vec<D>>
HWY_INLINE V MeanOfFour(D d, V a, V b, V c, V e) {
  const V sum = hn::Add(hn::Add(hn::Add(a, b), c), e);
  return hn::Mul(sum, hn::Set(d, hn::TFromD<D>(0.25)));
}

// Rows of outputs, `count` in each and one after the other, from pairs of rows of 2 * count inputs
// that lie `pitch` elements apart.
struct Rows2x2 {
  int64_t rows, count, pitch;
  bool average;
};

// A column of vectors after the other: narrow rows share what the part of a vector needs. winners
// may be null; for a mean they are.
template <class Pairs, class D, typename T = hn::TFromD<D>>
HWY_INLINE void Forward2x2(D d, const Rows2x2& shape, const T* x, T* y, uint8_t* winners) {
  using V = hn::Vec<D>;
  ForEachVectorOf(d, shape.count, [&](const auto& access, int64_t i) HWY_ATTR {
    const T* top = x + 2 * i;
    for (int64_t at = i, row = 0; row < shape.rows; ++row, at += shape.count) {
      const T* bottom = top + shape.pitch;
      V a, b, c, e, best, number;
      LoadPairs<Pairs>(access, top, a, b);
      LoadPairs<Pairs>(access, bottom, c, e);
      top = bottom + shape.pitch;
      if (shape.average) {
        access.Store(MeanOfFour(d, a, b, c, e), y + at);
        continue;
      }
      MaxOfFour(d, a, b, c, e, best, number);
      access.Store(best, y + at);
      if (winners != nullptr) StoreWinners<uint8_t>(access, number, winners, at);
    }
  });
}

#if DTNN_MASKED_MEMORY && HWY_TARGET != HWY_SCALAR
// The same for rows of at most half a vector of outputs: two rows at once.
template <class D, typename T = hn::TFromD<D>>
HWY_INLINE void Forward2x2Narrow(D d, const Rows2x2& shape, const T* x, T* y, uint8_t* winners) {
  using V = hn::Vec<D>;
  const size_t count = size_t(shape.count);
  const Part<D> both{d, 2 * count};
  const V first = hn::IfThenElseZero(hn::FirstN(d, count), hn::Set(d, T(1)));
  const auto outputs = hn::Gt(hn::ConcatLowerLower(d, first, first), hn::Zero(d));
  const auto load = [&](const T* from, V& even, V& odd) HWY_ATTR {
    ElementPairs::Split(d, both.Load(from), both.Load(from + 2 * shape.pitch), even, odd);
  };
  int64_t row = 0;
  for (; row + 2 <= shape.rows; row += 2, x += 4 * shape.pitch) {
    const int64_t at = row * shape.count;
    V a, b, c, e, best, number;
    load(x, a, b);
    load(x + shape.pitch, c, e);
    if (shape.average) {
      both.Store(hn::Compress(MeanOfFour(d, a, b, c, e), outputs), y + at);
      continue;
    }
    MaxOfFour(d, a, b, c, e, best, number);
    both.Store(hn::Compress(best, outputs), y + at);
    if (winners != nullptr) StoreWinners<uint8_t>(both, hn::Compress(number, outputs), winners, at);
  }
  if (row == shape.rows) return;
  const int64_t at = row * shape.count;
  Forward2x2<ElementPairs>(d, {1, shape.count, shape.pitch, shape.average}, x, y + at,
                           winners == nullptr ? nullptr : winners + at);
}
#endif

// The gradients of those inputs.
template <class Pairs, class D, typename T = hn::TFromD<D>>
HWY_INLINE void Backward2x2(D d, const Rows2x2& shape, const T* dy, const uint8_t* winners,
                            bool accumulate, T* dx) {
  ForEachVectorOf(d, shape.count, [&](const auto& access, int64_t i) HWY_ATTR {
    T* top = dx + 2 * i;
    for (int64_t at = i, row = 0; row < shape.rows; ++row, at += shape.count) {
      T* bottom = top + shape.pitch;
      const auto gradient = access.Load(dy + at);
      if (shape.average) {
        const auto share = hn::Mul(gradient, hn::Set(d, T(0.25)));
        StorePairs<Pairs>(access, share, share, accumulate, top);
        StorePairs<Pairs>(access, share, share, accumulate, bottom);
      } else {
        const auto number = LoadWinners<uint8_t>(access, winners, at);
        const auto of = [&](int k) HWY_ATTR {
          return hn::IfThenElseZero(hn::Eq(number, hn::Set(d, T(k))), gradient);
        };
        StorePairs<Pairs>(access, of(0), of(1), accumulate, top);
        StorePairs<Pairs>(access, of(2), of(3), accumulate, bottom);
      }
      top = bottom + shape.pitch;
    }
  });
}

// Asks for the elements that the same output column of the next row of windows, `ahead` elements
// on, will want: two rows far apart are more than hardware prefetchers follow (measured: three
// times the speed from memory).
template <typename T>
HWY_INLINE void PrefetchNextRow(const T* top, const T* bottom, int64_t pitch, int64_t ahead) {
  hwy::Prefetch(top + ahead);
  hwy::Prefetch(top + ahead + pitch);
  hwy::Prefetch(bottom + ahead);
  hwy::Prefetch(bottom + ahead + pitch);
}

// One output pixel of `channels` from the pixels at `top` and `bottom` and those `pitch` further.
template <typename T>
HWY_INLINE void Pixel2x2(bool average, const T* top, const T* bottom, int64_t pitch,
                         int64_t channels, T* y, uint8_t* winners, int64_t ahead) {
  ForEachVector<T>(channels, [&](const auto& access, int64_t i) HWY_ATTR {
    const auto d = access.d;
    PrefetchNextRow(top + i, bottom + i, pitch, ahead);
    const auto a = access.Load(top + i), b = access.Load(top + pitch + i);
    const auto c = access.Load(bottom + i), e = access.Load(bottom + pitch + i);
    if (average) return access.Store(MeanOfFour(d, a, b, c, e), y + i);
    auto best = a, number = a;
    MaxOfFour(d, a, b, c, e, best, number);
    access.Store(best, y + i);
    if (winners != nullptr) StoreWinners<uint8_t>(access, number, winners, i);
  });
}

template <typename T>
HWY_INLINE void Pixel2x2Gradient(const T* dy, const uint8_t* winners, int64_t channels,
                                 bool accumulate, T* top, T* bottom, int64_t pitch, int64_t ahead) {
  ForEachVector<T>(channels, [&](const auto& access, int64_t i) HWY_ATTR {
    const auto d = access.d;
    PrefetchNextRow<T>(top + i, bottom + i, pitch, ahead);
    const auto gradient = access.Load(dy + i);
    const auto put = [&](auto share, T* to) HWY_ATTR {
      access.Store(accumulate ? hn::Add(access.Load(to), share) : share, to);
    };
    if (winners == nullptr) {
      const auto share = hn::Mul(gradient, hn::Set(d, T(0.25)));
      put(share, top + i);
      put(share, top + pitch + i);
      put(share, bottom + i);
      return put(share, bottom + pitch + i);
    }
    const auto number = LoadWinners<uint8_t>(access, winners, i);
    const auto of = [&](int k) HWY_ATTR {
      return hn::IfThenElseZero(hn::Eq(number, hn::Set(d, T(k))), gradient);
    };
    put(of(0), top + i);
    put(of(1), top + pitch + i);
    put(of(2), bottom + i);
    put(of(3), bottom + pitch + i);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace dtnn
HWY_AFTER_NAMESPACE();

#endif  // DTNN_KERNELS_POOL_POOL_2X2_INL_H_
