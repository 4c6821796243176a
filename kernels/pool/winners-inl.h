// Winners of max pooling in vectors: kept as numbers of the element type while computing (exact up
// to 2^24), as uint8 or int32 in memory. Included once per target.

#if defined(DTNN_KERNELS_POOL_WINNERS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DTNN_KERNELS_POOL_WINNERS_INL_H_
#undef DTNN_KERNELS_POOL_WINNERS_INL_H_
#else
#define DTNN_KERNELS_POOL_WINNERS_INL_H_
#endif

#include <cstring>
#include <type_traits>

#include "hwy/highway.h"
#include "kernels/elementwise/transform-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dtnn {
namespace HWY_NAMESPACE {

// 0 where the mask is not set, and nothing is read there: Highway's one-lane MaskedLoad reads
// first.
template <class M, class D>
HWY_INLINE hn::Vec<D> LoadWhere(M mask, D d, const hn::TFromD<D>* from) {
#if HWY_TARGET == HWY_SCALAR
  return mask.bits != 0 ? hn::LoadU(d, from) : hn::Zero(d);
#else
  return hn::MaskedLoad(mask, d, from);
#endif
}

template <class D>
HWY_INLINE void StoreIntegers(const Whole<D>&, Integers<D> v, int32_t* to) {
  hn::StoreU(v, hn::Rebind<int32_t, D>(), to);
}
template <class D>
HWY_INLINE void StoreIntegers(const Whole<D>&, Integers<D> v, uint8_t* to) {
  const hn::Rebind<uint8_t, D> bytes;
  hn::StoreU(hn::DemoteTo(bytes, v), bytes, to);
}
template <class D>
HWY_INLINE Integers<D> LoadIntegers(const Whole<D>&, const int32_t* from) {
  return hn::LoadU(hn::Rebind<int32_t, D>(), from);
}
template <class D>
HWY_INLINE Integers<D> LoadIntegers(const Whole<D>&, const uint8_t* from) {
  return hn::PromoteTo(hn::Rebind<int32_t, D>(), hn::LoadU(hn::Rebind<uint8_t, D>(), from));
}

#if HWY_TARGET <= HWY_AVX3
// Bytes have masks of their own.
template <class D, typename W>
HWY_INLINE void StoreIntegers(const Part<D>& part, Integers<D> v, W* to) {
  const hn::Rebind<W, D> d;
  const auto first = hn::FirstN(d, part.lanes);
  if constexpr (sizeof(W) == 1) {
    hn::BlendedStore(hn::DemoteTo(d, v), first, d, to);
  } else {
    hn::BlendedStore(v, first, d, to);
  }
}
template <class D, typename W>
HWY_INLINE Integers<D> LoadIntegers(const Part<D>& part, const W* from) {
  const hn::Rebind<W, D> d;
  const auto v = hn::MaskedLoad(hn::FirstN(d, part.lanes), d, from);
  if constexpr (sizeof(W) == 1) {
    return hn::PromoteTo(hn::Rebind<int32_t, D>(), v);
  } else {
    return v;
  }
}
#else
// Copies `count` < HWY_MAX_BYTES / 4 elements in two pieces that overlap: no loop over elements.
template <typename W>
HWY_INLINE void CopyFew(const W* from, size_t count, W* to) {
  const auto ends = [&](auto piece) HWY_ATTR {
    constexpr size_t kPiece = decltype(piece)::value;
    std::memcpy(to, from, kPiece * sizeof(W));
    std::memcpy(to + count - kPiece, from + count - kPiece, kPiece * sizeof(W));
  };
  if (count >= 8) return ends(std::integral_constant<size_t, 8>());
  if (count >= 4) return ends(std::integral_constant<size_t, 4>());
  if (count >= 2) return ends(std::integral_constant<size_t, 2>());
  if (count == 1) *to = *from;
}

template <class D, typename W>
HWY_INLINE void StoreIntegers(const Part<D>& part, Integers<D> v, W* to) {
  HWY_ALIGN W lanes[HWY_MAX_BYTES / 4];
  StoreIntegers(Whole<D>{part.d}, v, lanes);
  CopyFew(lanes, part.lanes, to);
}
template <class D, typename W>
HWY_INLINE Integers<D> LoadIntegers(const Part<D>& part, const W* from) {
  HWY_ALIGN W lanes[HWY_MAX_BYTES / 4] = {};
  CopyFew(from, part.lanes, lanes);
  return LoadIntegers(Whole<D>{part.d}, lanes);
}
#endif

// The general conversion looks after overflow, which bytes cannot have.
template <typename W, class D>
HWY_INLINE Integers<D> NumbersOf(D d, hn::Vec<D> winners) {
  if constexpr (sizeof(W) == 1 && sizeof(hn::TFromD<D>) == 4) {
    constexpr float kUnit = 1 << 23;  // from here on the mantissa's last bit is 1
    const hn::Rebind<int32_t, D> integers;
    const auto bits = hn::BitCast(integers, hn::Add(winners, hn::Set(d, kUnit)));
    return hn::And(bits, hn::Set(integers, 255));
  } else {
    return ToIntegers(d, winners);
  }
}

// W is uint8_t or int32_t.
template <typename W, class Access, class V>
HWY_INLINE void StoreWinners(const Access& access, V winners, void* to, int64_t offset) {
  StoreIntegers(access, NumbersOf<W>(access.d, winners), static_cast<W*>(to) + offset);
}
template <typename W, class Access>
HWY_INLINE auto LoadWinners(const Access& access, const void* from, int64_t offset) {
  return FromIntegers(access.d, LoadIntegers(access, static_cast<const W*>(from) + offset));
}

}  // namespace HWY_NAMESPACE
}  // namespace dtnn
HWY_AFTER_NAMESPACE();

#endif  // DTNN_KERNELS_POOL_WINNERS_INL_H_
