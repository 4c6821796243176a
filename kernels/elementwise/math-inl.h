// Elementary functions on vectors, from Highway's, with the behaviour that a training run needs: a
// NaN stays a NaN, so that a diverged network shows. Include after hwy/highway.h, once per target.

#if defined(DTNN_KERNELS_ELEMENTWISE_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DTNN_KERNELS_ELEMENTWISE_MATH_INL_H_
#undef DTNN_KERNELS_ELEMENTWISE_MATH_INL_H_
#else
#define DTNN_KERNELS_ELEMENTWISE_MATH_INL_H_
#endif

#include "hwy/contrib/math/math-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace dtnn {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// e^x for x <= 0, to one unit in the last place; 0 below the smallest normal numbers' logarithm.
template <class D, class V>
HWY_INLINE V ExpOfNonPositive(D d, V x) {
  return hn::IfThenElse(hn::IsNaN(x), x, hn::Exp(d, x));
}

// 1 / (1 + e^-x), from e^-|x|, which cannot overflow: 1 / (1 + e), or e / (1 + e) where x < 0.
template <class D, class V>
HWY_INLINE V Sigmoid(D d, V x) {
  const V one = hn::Set(d, 1);
  const V e = ExpOfNonPositive(d, hn::Neg(hn::Abs(x)));
  return hn::Div(hn::IfThenElse(hn::Lt(x, hn::Zero(d)), e, one), hn::Add(one, e));
}

}  // namespace HWY_NAMESPACE
}  // namespace dtnn
HWY_AFTER_NAMESPACE();

#endif  // DTNN_KERNELS_ELEMENTWISE_MATH_INL_H_
