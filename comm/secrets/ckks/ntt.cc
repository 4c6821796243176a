#include "comm/secrets/ckks/ntt.h"

#include "comm/secrets/ckks/primes.h"

// Everything up to HWY_ONCE is compiled once per instruction set.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "comm/secrets/ckks/ntt.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#ifndef DTNN_COMM_CKKS_NTT_CC_
#define DTNN_COMM_CKKS_NTT_CC_
namespace dtnn::ckks {

// x, y in [0, 4q) become x + r y, x - r y in [0, 4q).
inline void Butterfly(const Modulus& q, Factor r, uint64_t& x, uint64_t& y) {
  const uint64_t twice = 2 * q.value();
  const uint64_t a = ReduceOnce(x, twice), b = q.MultiplyLazily(y, r);
  x = a + b;
  y = a - b + twice;
}

// x, y in [0, 2q) become x + y, (x - y) r in [0, 2q): twice the inverse of the above.
inline void InverseButterfly(const Modulus& q, Factor r, uint64_t& x, uint64_t& y) {
  const uint64_t twice = 2 * q.value();
  const uint64_t a = x, b = y;
  x = ReduceOnce(a + b, twice);
  y = q.MultiplyLazily(a - b + twice, r);
}

// Without the reduction at the end.
inline void ForwardStages(const Modulus q, const FactorTable& roots, uint64_t* a) {
  const size_t n = roots.values.size();
  for (size_t m = 1, half = n / 2; m < n; m *= 2, half /= 2) {
    for (size_t i = 0; i < m; ++i) {
      const Factor r = roots[m + i];
      uint64_t* const x = a + 2 * i * half;
      uint64_t* const y = x + half;
      for (size_t j = 0; j < half; ++j) Butterfly(q, r, x[j], y[j]);
    }
  }
}

inline void InverseStages(const Modulus q, const FactorTable& roots, uint64_t* a) {
  const size_t n = roots.values.size();
  for (size_t m = n / 2, half = 1; m >= 1; m /= 2, half *= 2) {
    for (size_t i = 0; i < m; ++i) {
      const Factor r = roots[m + i];
      uint64_t* const x = a + 2 * i * half;
      uint64_t* const y = x + half;
      for (size_t j = 0; j < half; ++j) InverseButterfly(q, r, x[j], y[j]);
    }
  }
}

}  // namespace dtnn::ckks
#endif  // DTNN_COMM_CKKS_NTT_CC_

HWY_BEFORE_NAMESPACE();
namespace dtnn::ckks {
namespace HWY_NAMESPACE {
namespace {

#if HWY_TARGET <= HWY_AVX3
namespace hn = hwy::HWY_NAMESPACE;

constexpr size_t kLanes = 8;

template <class D, class V>
HWY_INLINE V MultiplyWords(D d, V a, V b) {  // of their lower halves
  const hn::Repartition<uint32_t, D> halves;
  return hn::BitCast(d, hn::MulEven(hn::BitCast(halves, a), hn::BitCast(halves, b)));
}

// The upper halves of the products, from those of half words.
template <class D, class V>
HWY_INLINE V HighProducts(D d, V a, V b) {
  const V a_high = hn::ShiftRight<32>(a), b_high = hn::ShiftRight<32>(b);
  const V low = MultiplyWords(d, a, b);
  const V middle = hn::Add(MultiplyWords(d, a_high, b), hn::ShiftRight<32>(low));
  const V rest = hn::Add(MultiplyWords(d, a, b_high), hn::And(middle, hn::Set(d, 0xffffffffu)));
  return hn::Add(MultiplyWords(d, a_high, b_high),
                 hn::Add(hn::ShiftRight<32>(middle), hn::ShiftRight<32>(rest)));
}

// x - m where x >= m: otherwise it wraps around to something larger.
template <class V>
HWY_INLINE V ReduceOnce(V x, V m) {
  return hn::Min(x, hn::Sub(x, m));
}

template <class D, class V>
HWY_INLINE V MultiplyLazily(D d, V x, V root, V quotient, V q) {
  return hn::Sub(hn::Mul(x, root), hn::Mul(HighProducts(d, x, quotient), q));
}

// The butterflies of ntt.cc's scalar part.
template <class D, class V = hn::Vec<D>>
struct Butterflies {
  D d;
  V q, twice;

  HWY_INLINE Butterflies(D d, uint64_t q) : d(d), q(hn::Set(d, q)), twice(hn::Set(d, 2 * q)) {}

  HWY_INLINE void Forward(V root, V quotient, V& x, V& y) const {
    const V a = ReduceOnce(x, twice), b = MultiplyLazily(d, y, root, quotient, q);
    x = hn::Add(a, b);
    y = hn::Add(hn::Sub(a, b), twice);
  }
  HWY_INLINE void Inverse(V root, V quotient, V& x, V& y) const {
    const V a = x, b = y;
    x = ReduceOnce(hn::Add(a, b), twice);
    y = MultiplyLazily(d, hn::Add(hn::Sub(a, b), twice), root, quotient, q);
  }
  HWY_INLINE V Reduced(V x) const { return ReduceOnce(ReduceOnce(x, twice), q); }
};

// Butterflies whose halves are at least a vector long.
template <bool forward, class D>
HWY_INLINE void LongStage(D d, uint64_t q, const FactorTable& roots, uint64_t* a, size_t m,
                          size_t half) {
  const Butterflies<D> butterflies(d, q);
  const size_t lanes = hn::Lanes(d);
  for (size_t i = 0; i < m; ++i) {
    const auto root = hn::Set(d, roots.values[m + i]);
    const auto quotient = hn::Set(d, roots.quotients[m + i]);
    uint64_t* const low = a + 2 * i * half;
    uint64_t* const high = low + half;
    for (size_t j = 0; j < half; j += lanes) {
      auto x = hn::LoadU(d, low + j), y = hn::LoadU(d, high + j);
      forward ? butterflies.Forward(root, quotient, x, y)
              : butterflies.Inverse(root, quotient, x, y);
      hn::StoreU(x, d, low + j);
      hn::StoreU(y, d, high + j);
    }
  }
}

// The two stages with halves of 2 and 1, on 8 groups of 4 numbers at a time: vector k has the k-th
// of each group. They are the last ones forward, and the first ones of the inverse.
template <bool forward>
void ShortStages(uint64_t q, const FactorTable& roots, uint64_t* a) {
  const hn::ScalableTag<uint64_t> d;
  using V = hn::Vec<decltype(d)>;
  const Butterflies<decltype(d)> butterflies(d, q);
  const size_t groups = roots.values.size() / 4;
  for (size_t g = 0; g < groups; g += kLanes) {
    const V r2 = hn::LoadU(d, &roots.values[groups + g]);
    const V q2 = hn::LoadU(d, &roots.quotients[groups + g]);
    V r1_even, r1_odd, q1_even, q1_odd, x0, x1, x2, x3;
    hn::LoadInterleaved2(d, &roots.values[2 * (groups + g)], r1_even, r1_odd);
    hn::LoadInterleaved2(d, &roots.quotients[2 * (groups + g)], q1_even, q1_odd);
    hn::LoadInterleaved4(d, a + 4 * g, x0, x1, x2, x3);
    if (forward) {
      butterflies.Forward(r2, q2, x0, x2);
      butterflies.Forward(r2, q2, x1, x3);
      butterflies.Forward(r1_even, q1_even, x0, x1);
      butterflies.Forward(r1_odd, q1_odd, x2, x3);
      x0 = butterflies.Reduced(x0);
      x1 = butterflies.Reduced(x1);
      x2 = butterflies.Reduced(x2);
      x3 = butterflies.Reduced(x3);
    } else {
      butterflies.Inverse(r1_even, q1_even, x0, x1);
      butterflies.Inverse(r1_odd, q1_odd, x2, x3);
      butterflies.Inverse(r2, q2, x0, x2);
      butterflies.Inverse(r2, q2, x1, x3);
    }
    hn::StoreInterleaved4(x0, x1, x2, x3, d, a + 4 * g);
  }
}

template <bool forward>
HWY_INLINE void AnyStage(uint64_t q, const FactorTable& roots, uint64_t* a, size_t m, size_t half) {
  if (half >= kLanes) {
    LongStage<forward>(hn::ScalableTag<uint64_t>(), q, roots, a, m, half);
  } else {
    LongStage<forward>(hn::CappedTag<uint64_t, 4>(), q, roots, a, m, half);
  }
}

constexpr size_t kLeastDegree = 4 * kLanes;
#endif  // HWY_TARGET <= HWY_AVX3

void ForwardTransform(const Modulus& q, const FactorTable& roots, uint64_t* a) {
  const size_t n = roots.values.size();
#if HWY_TARGET <= HWY_AVX3
  if (n >= kLeastDegree) {
    for (size_t m = 1, half = n / 2; half >= 4; m *= 2, half /= 2) {
      AnyStage<true>(q.value(), roots, a, m, half);
    }
    return ShortStages<true>(q.value(), roots, a);
  }
#endif
  ForwardStages(q, roots, a);
  for (size_t j = 0; j < n; ++j) {
    a[j] = ckks::ReduceOnce(ckks::ReduceOnce(a[j], 2 * q.value()), q.value());
  }
}

void InverseTransform(const Modulus& q, const FactorTable& roots, Factor inverse_degree,
                      uint64_t* a) {
  const size_t n = roots.values.size();
#if HWY_TARGET <= HWY_AVX3
  if (n >= kLeastDegree) {
    ShortStages<false>(q.value(), roots, a);
    for (size_t m = n / 8, half = 4; m >= 1; m /= 2, half *= 2) {
      AnyStage<false>(q.value(), roots, a, m, half);
    }
    const hn::ScalableTag<uint64_t> d;
    const auto vq = hn::Set(d, q.value());
    const auto factor = hn::Set(d, inverse_degree.value);
    const auto quotient = hn::Set(d, inverse_degree.quotient);
    for (size_t j = 0; j < n; j += kLanes) {
      const auto x = MultiplyLazily(d, hn::LoadU(d, a + j), factor, quotient, vq);
      hn::StoreU(ReduceOnce(x, vq), d, a + j);
    }
    return;
  }
#endif
  InverseStages(q, roots, a);
  for (size_t j = 0; j < n; ++j) a[j] = q.Multiply(a[j], inverse_degree);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace dtnn::ckks
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dtnn::ckks {
namespace {

HWY_EXPORT(ForwardTransform);
HWY_EXPORT(InverseTransform);

// The lowest `bits` bits of x in reverse order.
size_t ReverseBits(size_t x, int bits) {
  size_t reversed = 0;
  for (int i = 0; i < bits; ++i) reversed |= ((x >> i) & 1) << (bits - 1 - i);
  return reversed;
}

}  // namespace

Ntt::Ntt(int log2_degree, uint64_t q) : modulus_(q) {
  const size_t degree = size_t{1} << log2_degree;
  const uint64_t root = SmallestPrimitiveRoot(2 * degree, q);
  std::vector<uint64_t> powers(degree, 1);
  for (size_t k = 1; k < degree; ++k) powers[k] = modulus_.Multiply(powers[k - 1], root);
  for (size_t k = 0; k < degree; ++k) {
    const size_t exponent = ReverseBits(k, log2_degree);
    roots_.Add(modulus_.Prepare(powers[exponent]));
    // root^-e = -root^(n - e).
    inverse_roots_.Add(modulus_.Prepare(exponent == 0 ? 1 : q - powers[degree - exponent]));
  }
  inverse_degree_ = modulus_.Prepare(modulus_.Inverse(modulus_.Reduce(degree)));
}

void Ntt::Forward(std::span<uint64_t> coefficients) const {
  HWY_DYNAMIC_DISPATCH(ForwardTransform)(modulus_, roots_, coefficients.data());
}

void Ntt::Inverse(std::span<uint64_t> values) const {
  HWY_DYNAMIC_DISPATCH(InverseTransform)(modulus_, inverse_roots_, inverse_degree_, values.data());
}

}  // namespace dtnn::ckks
#endif  // HWY_ONCE
