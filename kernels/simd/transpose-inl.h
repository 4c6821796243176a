// Transposition of a 4 x 4 block of floats in registers, for every instruction set with vectors.
// Included once per instruction set, after hwy/highway.h.

#if defined(DTNN_KERNELS_SIMD_TRANSPOSE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DTNN_KERNELS_SIMD_TRANSPOSE_INL_H_
#undef DTNN_KERNELS_SIMD_TRANSPOSE_INL_H_
#else
#define DTNN_KERNELS_SIMD_TRANSPOSE_INL_H_
#endif

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace dtnn {
namespace HWY_NAMESPACE {

#if HWY_TARGET != HWY_SCALAR
// Rows become columns.
template <class D, class V>
HWY_INLINE void Transpose4(D d, V& a, V& b, V& c, V& e) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::Repartition<double, D> wide;
  const V ab0 = hn::InterleaveLower(d, a, b), ab1 = hn::InterleaveUpper(d, a, b);
  const V ce0 = hn::InterleaveLower(d, c, e), ce1 = hn::InterleaveUpper(d, c, e);
  const auto ab0w = hn::BitCast(wide, ab0), ab1w = hn::BitCast(wide, ab1);
  const auto ce0w = hn::BitCast(wide, ce0), ce1w = hn::BitCast(wide, ce1);
  a = hn::BitCast(d, hn::InterleaveLower(wide, ab0w, ce0w));
  b = hn::BitCast(d, hn::InterleaveUpper(wide, ab0w, ce0w));
  c = hn::BitCast(d, hn::InterleaveLower(wide, ab1w, ce1w));
  e = hn::BitCast(d, hn::InterleaveUpper(wide, ab1w, ce1w));
}
#endif

}  // namespace HWY_NAMESPACE
}  // namespace dtnn
HWY_AFTER_NAMESPACE();

#endif  // include guard
