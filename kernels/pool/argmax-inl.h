// Argmax of max pooling in vectors: unsigned integers as wide as the elements while computing,
// uint8 or int32 in memory. Included once per target.

#if defined(DTNN_KERNELS_POOL_ARGMAX_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DTNN_KERNELS_POOL_ARGMAX_INL_H_
#undef DTNN_KERNELS_POOL_ARGMAX_INL_H_
#else
#define DTNN_KERNELS_POOL_ARGMAX_INL_H_
#endif

#include <cstring>
#include <limits>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace dtnn::pool {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Indices for vectors of elements D.
template <class D>
using Numbers = hn::Vec<hn::RebindToUnsigned<D>>;
template <class D>
HWY_INLINE Numbers<D> NumberVector(D, int64_t number) {
  const hn::RebindToUnsigned<D> d;
  return hn::Set(d, hn::TFromD<decltype(d)>(number));
}

template <class D>
HWY_INLINE void StoreArgmax(D, Numbers<D> argmax, uint8_t* to) {
  const hn::Rebind<uint8_t, D> bytes;
  hn::StoreU(hn::TruncateTo(bytes, argmax), bytes, to);
}
template <class D>
HWY_INLINE void StoreArgmax(D, Numbers<D> argmax, int32_t* to) {
  const hn::Rebind<int32_t, D> integers;
  if constexpr (sizeof(hn::TFromD<D>) == sizeof(int32_t)) {
    hn::StoreU(hn::BitCast(integers, argmax), integers, to);
  } else {
    const hn::Rebind<uint32_t, D> narrow;
    hn::StoreU(hn::BitCast(integers, hn::TruncateTo(narrow, argmax)), integers, to);
  }
}

// Those of the first `count` lanes.
template <class D, typename W>
HWY_INLINE void StoreFirstArgmax(D d, Numbers<D> argmax, size_t count, W* to) {
#if HWY_TARGET <= HWY_AVX3
  if constexpr (sizeof(W) == 1) {  // bytes have masks of their own
    const hn::Rebind<uint8_t, D> bytes;
    return hn::BlendedStore(hn::TruncateTo(bytes, argmax), hn::FirstN(bytes, count), bytes, to);
  }
#endif
  HWY_ALIGN W lanes[hn::MaxLanes(d)];
  StoreArgmax(d, argmax, lanes);
  std::memcpy(to, lanes, count * sizeof(W));
}

template <class D, typename W>
HWY_INLINE Numbers<D> LoadArgmax(D, const W* from) {
  const hn::Rebind<uint32_t, D> narrow;
  const auto widen = [&](auto argmax) HWY_ATTR {
    if constexpr (sizeof(hn::TFromD<D>) == sizeof(uint32_t)) {
      return argmax;
    } else {
      return hn::PromoteTo(hn::RebindToUnsigned<D>(), argmax);
    }
  };
  const hn::Rebind<W, D> d;
  if constexpr (sizeof(W) == 1) {
    return widen(hn::PromoteTo(narrow, hn::LoadU(d, from)));
  } else {
    return widen(hn::BitCast(narrow, hn::LoadU(d, from)));
  }
}

// The first largest of the values that it is shown in order, and its number. A NaN stays.
template <class D>
struct Leader {
  using T = hn::TFromD<D>;
  hn::Vec<D> value;
  Numbers<D> number;

  HWY_INLINE Leader(D d, hn::Vec<D> first, int64_t first_number)
      : value(first), number(NumberVector(d, first_number)) {}
  // No value has been shown yet; the first one has number `first`, and wins where all are
  // -infinity.
  HWY_INLINE Leader(D d, Numbers<D> first)
      : value(hn::Set(d, -std::numeric_limits<T>::infinity())), number(first) {}

  HWY_INLINE void Consider(D d, hn::Vec<D> v, int64_t v_number) {
    const auto better = hn::Or(hn::Gt(v, value), hn::IsNaN(v));
    value = hn::IfThenElse(better, v, value);
    const hn::RebindToUnsigned<D> numbers;
    number = hn::IfThenElse(hn::RebindMask(numbers, better), NumberVector(d, v_number), number);
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace dtnn::pool
HWY_AFTER_NAMESPACE();

#endif  // DTNN_KERNELS_POOL_ARGMAX_INL_H_
