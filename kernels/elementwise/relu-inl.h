// The relu and its gradient on vectors, with the behaviour that a training run needs: a NaN stays a
// NaN, so that a diverged network shows. hn::Max alone does not promise that: where one operand is
// NaN it answers the other one, or the second. Include after hwy/highway.h, once per target.

#if defined(DTNN_KERNELS_ELEMENTWISE_RELU_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DTNN_KERNELS_ELEMENTWISE_RELU_INL_H_
#undef DTNN_KERNELS_ELEMENTWISE_RELU_INL_H_
#else
#define DTNN_KERNELS_ELEMENTWISE_RELU_INL_H_
#endif

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace dtnn {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// max(0, v).
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Rectify(D d, V v) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2
  return hn::Max(hn::Zero(d), v);  // one instruction, which answers v where either is NaN
#else
  return hn::IfThenZeroElse(hn::Lt(v, hn::Zero(d)), v);
#endif
}

// The gradient at the point where the relu has the value y: dy where y > 0, else 0; NaN where y or
// dy is NaN.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V RectifyGradient(D d, V y, V dy) {
  const auto passes = hn::Or(hn::Gt(y, hn::Zero(d)), hn::IsNaN(dy));
  return hn::IfThenElse(passes, dy, Rectify(d, y));
}

}  // namespace HWY_NAMESPACE
}  // namespace dtnn
HWY_AFTER_NAMESPACE();

#endif  // DTNN_KERNELS_ELEMENTWISE_RELU_INL_H_
