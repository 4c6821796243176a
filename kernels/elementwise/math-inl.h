// Elementary functions on vectors, a few units in the last place wrong at most, as fast as memory
// where that is possible, and with the behaviour that a training run needs: a NaN stays a NaN, so
// that a diverged network shows. Include after hwy/highway.h, once per target.

#if defined(DTNN_KERNELS_ELEMENTWISE_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DTNN_KERNELS_ELEMENTWISE_MATH_INL_H_
#undef DTNN_KERNELS_ELEMENTWISE_MATH_INL_H_
#else
#define DTNN_KERNELS_ELEMENTWISE_MATH_INL_H_
#endif

#include <cstdint>
#include <type_traits>

#include "hwy/contrib/math/math-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace dtnn {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// c + c1 z + c2 z^2 + ...
template <class D, class V>
HWY_INLINE V Polynomial(D d, V, double c) {
  return hn::Set(d, hn::TFromD<D>(c));
}
template <class D, class V, class... More>
HWY_INLINE V Polynomial(D d, V z, double c, More... more) {
  return hn::MulAdd(Polynomial(d, z, more...), z, hn::Set(d, hn::TFromD<D>(c)));
}

// An integer n as 2^n: the bits of n added to those of a floating number's exponent.
template <class D>
struct FloatBits {
  using T = hn::TFromD<D>;
  static constexpr bool kSingle = sizeof(T) == 4;
  using I = std::conditional_t<kSingle, int32_t, int64_t>;
  using DI = hn::Rebind<I, D>;
  static constexpr int kMantissa = kSingle ? 23 : 52;
  static constexpr I kBias = kSingle ? 127 : 1023;
};

// e^x for x <= 0, to one unit in the last place; 0 below the smallest normal numbers' logarithm.
// With x = n log 2 + r: 2^n (1 + r + r^2 p(r)), p the polynomial nearest to the rest of the series.
template <class D, class V>
HWY_INLINE V ExpOfNonPositive(D d, V x) {
  using T = hn::TFromD<D>;
  using Bits = FloatBits<D>;
  const typename Bits::DI integers;
  // Adding this number rounds to an integer and leaves it in the lowest bits.
  const V round = hn::Set(d, Bits::kSingle ? T(0x1.8p23) : T(0x1.8p52));
  const V rounded = hn::MulAdd(x, hn::Set(d, T(1.4426950408889634)), round);
  const V n = hn::Sub(rounded, round);
  const V r0 = hn::NegMulAdd(n, hn::Set(d, T(Bits::kSingle ? 0x1.62e4p-1 : 0x1.62e42feep-1)), x);
  const V r = hn::NegMulAdd(
      n, hn::Set(d, T(Bits::kSingle ? 0x1.7f7d1cf79abcap-20 : 0x1.a39ef35793c76p-33)), r0);
  V p = r;
  if constexpr (Bits::kSingle) {
    p = Polynomial(d, r, 0.5, 0.16666576989698775683, 0.041666554617204574203,
                   0.0083631790527225773704, 0.0013926183587713494542);
  } else {
    p = Polynomial(d, r, 0.50000000000000010221, 0.16666666666666667453, 0.041666666666624127873,
                   0.0083333333333300618325, 0.0013888888917213716901, 0.00019841269863053616878,
                   0.000024801521295954375131, 2.7557268459997064772e-6, 2.7620088445409748161e-7,
                   2.5100385495510319078e-8);
  }
  const V power = hn::Add(hn::MulAdd(hn::Mul(r, r), p, r), hn::Set(d, 1));
  const auto scale = hn::ShiftLeft<Bits::kMantissa>(hn::BitCast(integers, rounded));
  const V e = hn::BitCast(d, hn::Add(hn::BitCast(integers, power), scale));
  const V least = hn::Set(d, Bits::kSingle ? T(-87.3365447505531) : T(-708.3964185322641));
  return hn::IfThenElse(hn::IsNaN(x), x, hn::IfThenElseZero(hn::Ge(x, least), e));
}

// 1 - e^x, without cancellation near 0.
template <class D, class V>
HWY_INLINE V OneMinusExp(D d, V x) {
  return hn::IfThenElse(hn::IsNaN(x), x, hn::Neg(hn::Expm1(d, x)));
}

// 1 / (1 + e^-x), from e^-|x|, which cannot overflow: 1 / (1 + e), or e / (1 + e) where x < 0.
template <class D, class V>
HWY_INLINE V Sigmoid(D d, V x) {
  const V one = hn::Set(d, 1);
  const V e = ExpOfNonPositive(d, hn::Neg(hn::Abs(x)));
  return hn::Div(hn::IfThenElse(hn::Lt(x, hn::Zero(d)), e, one), hn::Add(one, e));
}

// artanh s for |s| <= 1/3: s + s^3 p(s^2), p the polynomial nearest to the rest of the series.
template <class D, class V>
HWY_INLINE V ArctanhOfSmall(D d, V s) {
  const V z = hn::Mul(s, s);
  V p = z;
  if constexpr (sizeof(hn::TFromD<D>) == 4) {
    p = Polynomial(d, z, 0.33333320168349619894, 0.20003780322455602882, 0.14118309902655240719,
                   0.13425749011418575903);
  } else {
    p = Polynomial(d, z, 0.33333333333333329281, 0.20000000000007291337, 0.14285714283554378581,
                   0.11111111358713931495, 0.090908947180664290846, 0.076927850324793115517,
                   0.066570721048274680752, 0.060005364047953562676, 0.044003692430723369411,
                   0.080820228059717661105);
  }
  return hn::MulAdd(hn::Mul(s, z), p, s);
}

// tanh x. Up to 1/2 x + x^3 p(x^2), p the polynomial nearest to the rest of the series; from there
// on 1 - 2e / (1 + e) with e = e^-2|x|.
template <class D, class V>
HWY_INLINE V Tanh(D d, V x) {
  const V one = hn::Set(d, 1), a = hn::Abs(x), z = hn::Mul(x, x);
  V p = z;
  if constexpr (FloatBits<D>::kSingle) {
    p = Polynomial(d, z, -0.33333332796631664012, 0.13333225775482525603, -0.053933469145967686458,
                   0.021470683025336762148, -0.0069429417504160069221);
  } else {
    p = Polynomial(d, z, -0.33333333333333328949, 0.13333333333329824238, -0.053968253963610086387,
                   0.02186948829723451434, -0.0088632292700678434021, 0.0035920334653723928221,
                   -0.0014549593843804661129, 0.00058496537290226445915, -0.00022107222975864633879,
                   0.000059469565897747691496);
  }
  const V small = hn::MulAdd(hn::Mul(a, z), p, a);
  const V e = ExpOfNonPositive(d, hn::Mul(a, hn::Set(d, -2)));
  const V large = hn::Sub(one, hn::Div(hn::Add(e, e), hn::Add(one, e)));
  const auto is_large = hn::Gt(a, hn::Set(d, hn::TFromD<D>(0.5)));
  return hn::CopySign(hn::IfThenElse(is_large, large, small), x);
}

// log(1 / (1 + e^-x)) = min(x, 0) - log(1 + e) with e = e^-|x|, whose second term is
// 2 artanh(e / (2 + e)): exact to the last digits both where it vanishes and where it is almost x.
template <class D, class V>
HWY_INLINE V LogSigmoid(D d, V x) {
  const V low = hn::IfThenZeroElse(hn::Gt(x, hn::Zero(d)), x);
  const V e = ExpOfNonPositive(d, hn::Neg(hn::Abs(x)));
  const V half = ArctanhOfSmall(d, hn::Div(e, hn::Add(e, hn::Set(d, 2))));
  return hn::Sub(low, hn::Add(half, half));
}

// artanh x; infinite at 1 and -1, NaN beyond. Up to 1/3 the series above; from there on, with a =
// |x| and the k for which w = 2^k (1 - a) is in [1, 2): (k log 2) / 2 + artanh((1 + a - w) / (1 + a
// + w)).
template <class D, class V>
HWY_INLINE V Arctanh(D d, V x) {
  using T = hn::TFromD<D>;
  using Bits = FloatBits<D>;
  using I = typename Bits::I;
  constexpr int kMantissa = Bits::kMantissa;
  constexpr I kBias = Bits::kBias;
  const typename Bits::DI integers;
  const V one = hn::Set(d, 1), a = hn::Abs(x), rest = hn::Sub(one, a), sum = hn::Add(one, a);
  const auto exponent = hn::ShiftRight<kMantissa>(hn::BitCast(integers, rest));
  const V k = hn::ConvertTo(d, hn::Sub(hn::Set(integers, kBias), exponent));
  const auto power = hn::ShiftLeft<kMantissa>(hn::Sub(hn::Set(integers, 2 * kBias), exponent));
  const V w = hn::Mul(rest, hn::BitCast(d, power));
  const auto small = hn::Le(hn::Mul(a, hn::Set(d, 3)), one);
  const V s = hn::IfThenElse(small, a, hn::Div(hn::Sub(sum, w), hn::Add(sum, w)));
  const V shift = hn::IfThenZeroElse(small, hn::Mul(k, hn::Set(d, T(0.34657359027997265))));
  const V inside = hn::CopySign(hn::Add(shift, ArctanhOfSmall(d, s)), x);
  const V edge = hn::Div(hn::IfThenElseZero(hn::Eq(a, one), x), hn::Zero(d));  // 0/0 beyond 1
  return hn::IfThenElse(hn::Lt(a, one), inside, edge);
}

// e^(-x^2/2). The square is split into its rounded value and the rest, which counts where the
// square is large: e^(s + r) = e^s (1 + r) for a small r.
template <class D, class V>
HWY_INLINE V NormalBell(D d, V x) {
  // From the bound on the result is 0.
  const V a = hn::Min(hn::Abs(x), hn::Set(d, FloatBits<D>::kSingle ? 14 : 39));
  const V half = hn::Mul(a, hn::Set(d, hn::TFromD<D>(-0.5)));
  const V square = hn::Mul(a, half);
  const V e = ExpOfNonPositive(d, square);
  return hn::IfThenElse(hn::IsNaN(x), x, hn::MulAdd(e, hn::MulSub(a, half, square), e));
}

// The normal distribution, (1 + erf(x / sqrt 2)) / 2, to the last digits in both tails. Below 0 it
// is e^(-a^2/2) h(q) / (1 + a) with a = |x| and q = (a - k) / (a + k), h the polynomial nearest to
// the smooth rest; above 0, 1 minus that. As Shepherd and Laframboise approximate erfc, Mathematics
// of Computation 36 (1981).
template <class D, class V>
HWY_INLINE V NormalDistribution(D d, V x) {
  constexpr bool kSingle = FloatBits<D>::kSingle;
  const V one = hn::Set(d, 1);
  const V a = hn::Min(hn::Abs(x), hn::Set(d, kSingle ? 14 : 39));
  const V k = hn::Set(d, kSingle ? 4 : 6);
  const V q = hn::Div(hn::Sub(a, k), hn::Add(a, k));
  V p = q;
  if constexpr (kSingle) {
    p = Polynomial(d, q, 0.47205320653884913926, -0.096703467992231442714, 0.013999623554316690066,
                   0.028600026226333304276, -0.032197625728872128445, 0.01793962901386858075,
                   -0.0050030000566209910804, -0.00030111531255083447052, 0.00069179583211152031673,
                   -0.000064484069977687950822, -0.000073413405649621087668);
  } else {
    p = Polynomial(d, q, 0.45345520027112791309, -0.085025362305770479819, 0.039811424562440303795,
                   -0.004373386779617619256, -0.016141517332772484444, 0.022592467063416959558,
                   -0.019766479207603063377, 0.01324686414822653577, -0.007059819557296354084,
                   0.0029356555233728442299, -0.00086899379943355765802, 0.00011948990443537778514,
                   0.000037791554201694795183, -0.000026355269900033413684,
                   4.4202980324511028331e-6, 1.790248640947064728e-6, -1.0103421951676721885e-6,
                   -1.23640653612049011e-8, 1.3926732192733408602e-7, -8.4381126919442249306e-9,
                   -1.5673265327137645353e-8, -1.6900681160720826114e-9);
  }
  const V tail = hn::Div(hn::Mul(NormalBell(d, x), p), hn::Add(one, a));
  const V result = hn::IfThenElse(hn::Gt(x, hn::Zero(d)), hn::Sub(one, tail), tail);
  return hn::IfThenElse(hn::IsNaN(x), x, result);
}

}  // namespace HWY_NAMESPACE
}  // namespace dtnn
HWY_AFTER_NAMESPACE();

#endif  // DTNN_KERNELS_ELEMENTWISE_MATH_INL_H_
