// Vectors of bfloat16 as vectors of float32 and back, with the bits of tensor/float16.h: to
// nearest, ties to even, a NaN stays one. Include after hwy/highway.h, once per target.

#if defined(DTNN_KERNELS_ELEMENTWISE_BFLOAT16_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DTNN_KERNELS_ELEMENTWISE_BFLOAT16_INL_H_
#undef DTNN_KERNELS_ELEMENTWISE_BFLOAT16_INL_H_
#else
#define DTNN_KERNELS_ELEMENTWISE_BFLOAT16_INL_H_
#endif

#include <cstddef>
#include <cstdint>

#include "hwy/highway.h"
#include "tensor/float16.h"

HWY_BEFORE_NAMESPACE();
namespace dtnn {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// As many elements as D has floats.
template <class D>
using Halves = hn::Rebind<uint16_t, D>;

template <class D>
HWY_INLINE hn::Vec<D> Widen(D d, hn::Vec<Halves<D>> halves) {
  return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(hn::RebindToUnsigned<D>(), halves)));
}

template <class D>
HWY_INLINE hn::Vec<Halves<D>> Round(D, hn::Vec<D> value) {
  const hn::RebindToUnsigned<D> words;
  const auto half = hn::Set(words, 0x7fff), one = hn::Set(words, 1), quiet = hn::Set(words, 0x40);
  const auto bits = hn::BitCast(words, value), upper = hn::ShiftRight<16>(bits);
  const auto rounded = hn::ShiftRight<16>(hn::Add(bits, hn::Add(half, hn::And(upper, one))));
  const auto nan = hn::RebindMask(words, hn::IsNaN(value));
  const auto result = hn::IfThenElse(nan, hn::Or(upper, quiet), rounded);
  return hn::DemoteTo(Halves<D>(), hn::BitCast(hn::RebindToSigned<D>(), result));
}

// Bfloat16 is a uint16_t with a name.
static_assert(sizeof(Bfloat16) == sizeof(uint16_t));
HWY_INLINE const uint16_t* Bits(const Bfloat16* values) {
  return reinterpret_cast<const uint16_t*>(values);
}
HWY_INLINE uint16_t* Bits(Bfloat16* values) { return reinterpret_cast<uint16_t*>(values); }

}  // namespace HWY_NAMESPACE
}  // namespace dtnn
HWY_AFTER_NAMESPACE();

#endif  // DTNN_KERNELS_ELEMENTWISE_BFLOAT16_INL_H_
