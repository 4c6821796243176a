// The transforms of Winograd tiles, one vector of channels at a time; see points.h for what they
// compute. Two rows of a transformed tile that belong to +-a share their even and odd parts, so the
// rows are made two by two, and each is at once transformed along its other axis: the tile is read
// again for every two rows, from the L1 cache, and needs no memory between its two transforms.
//
// Included once per instruction set, see winograd_cpu.cc.

#if defined(DTNN_KERNELS_CONV_WINOGRAD_TRANSFORM_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DTNN_KERNELS_CONV_WINOGRAD_TRANSFORM_INL_H_
#undef DTNN_KERNELS_CONV_WINOGRAD_TRANSFORM_INL_H_
#else
#define DTNN_KERNELS_CONV_WINOGRAD_TRANSFORM_INL_H_
#endif

#include <cstdint>

#include "hwy/highway.h"
#include "kernels/conv/winograd/points.h"
#include "kernels/simd/unroll.h"

HWY_BEFORE_NAMESPACE();
namespace dtnn::conv::winograd {
namespace HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

// sum + factor * x, without the product where the factor is 1 or -1.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V AddTimes(D d, double factor, V x, V sum) {
  if (factor == 1) return hn::Add(sum, x);
  if (factor == -1) return hn::Sub(sum, x);
  return hn::MulAdd(hn::Set(d, hn::TFromD<D>(factor)), x, sum);
}

template <int kPoints>
constexpr int kPairCount = int(Points<kPoints>::kPairs.size());

// Row 0 of B transposed times x, or the last one where x begins at the second element: those of 0
// and infinity.
template <int kPoints, class D, class X>
HWY_INLINE hn::Vec<D> TransformEnd(D d, const X& x) {
  constexpr auto kProduct = SquaresProduct<kPoints>(-1);
  auto sum = x(kPoints - 2);
  DTNN_UNROLL(8)
  for (int i = kPairCount<kPoints> - 1; i >= 0; --i) {
    sum = AddTimes(d, kProduct[size_t(i)], x(2 * i), sum);
  }
  return sum;
}

// The rows of B transposed of +-a times x, a being that of pair kPair.
template <int kPoints, int kPair, class D, class X>
HWY_INLINE void TransformPair(D d, const X& x, hn::Vec<D>& plus, hn::Vec<D>& minus) {
  constexpr double kPoint = Points<kPoints>::kPairs[kPair];
  // Over the pairs but one, so that its highest coefficient has the power of those.
  constexpr auto kProduct = SquaresProduct<kPoints>(kPair);
  auto even = x(kPoints - 2), odd = x(kPoints - 3);
  DTNN_UNROLL(8)
  for (int i = kPairCount<kPoints> - 2; i >= 0; --i) {
    even = AddTimes(d, kProduct[size_t(i)], x(2 * i + 2), even);
    odd = AddTimes(d, kProduct[size_t(i)], x(2 * i + 1), odd);
  }
  plus = AddTimes(d, kPoint, odd, even);
  minus = AddTimes(d, -kPoint, odd, even);
}

// One row of B transposed times x times B.
template <int kPoints, int kPair = 0, class D, class X, class Store>
HWY_INLINE void TransformRow(D d, const X& x, const Store& store) {
  if constexpr (kPair == 0) {
    store(0, TransformEnd<kPoints>(d, x));
    store(kPoints - 1, TransformEnd<kPoints>(d, [&](int i) HWY_ATTR { return x(i + 1); }));
  }
  if constexpr (kPair < kPairCount<kPoints>) {
    hn::Vec<D> plus, minus;
    TransformPair<kPoints, kPair>(d, x, plus, minus);
    store(1 + 2 * kPair, plus);
    store(2 + 2 * kPair, minus);
    TransformRow<kPoints, kPair + 1>(d, x, store);
  }
}

template <int kPoints, int kPair = 0, class D, class X, class Store>
HWY_INLINE void TransformPairsOfRows(D d, const X& x, const Store& store) {
  if constexpr (kPair < kPairCount<kPoints>) {
    hn::Vec<D> plus[kPoints], minus[kPoints];
    DTNN_UNROLL(8)
    for (int j = 0; j < kPoints; ++j) {
      TransformPair<kPoints, kPair>(
          d, [&](int i) HWY_ATTR { return x(i, j); }, plus[j], minus[j]);
    }
    TransformRow<kPoints>(
        d, [&](int j) HWY_ATTR { return plus[j]; },
        [&](int j, auto v) HWY_ATTR { store(1 + 2 * kPair, j, v); });
    TransformRow<kPoints>(
        d, [&](int j) HWY_ATTR { return minus[j]; },
        [&](int j, auto v) HWY_ATTR { store(2 + 2 * kPair, j, v); });
    TransformPairsOfRows<kPoints, kPair + 1>(d, x, store);
  }
}

// B^T x B: x(i, j) is an element of the tile, store(i, j, v) takes one of the result.
template <int kPoints, class D, class X, class Store>
HWY_INLINE void TransformData(D d, const X& x, const Store& store) {
  hn::Vec<D> row[kPoints];
  DTNN_UNROLL(8)
  for (int j = 0; j < kPoints; ++j) {
    row[j] = TransformEnd<kPoints>(d, [&](int i) HWY_ATTR { return x(i, j); });
  }
  TransformRow<kPoints>(
      d, [&](int j) HWY_ATTR { return row[j]; }, [&](int j, auto v) HWY_ATTR { store(0, j, v); });
  TransformPairsOfRows<kPoints>(d, x, store);
  DTNN_UNROLL(8)
  for (int j = 0; j < kPoints; ++j) {
    row[j] = TransformEnd<kPoints>(d, [&](int i) HWY_ATTR { return x(i + 1, j); });
  }
  TransformRow<kPoints>(
      d, [&](int j) HWY_ATTR { return row[j]; },
      [&](int j, auto v) HWY_ATTR { store(kPoints - 1, j, v); });
}

// The values of the polynomial with the `kSize` coefficients x at all points.
template <int kPoints, int kSize, int kPair = 0, class D, class X, class Store>
HWY_INLINE void EvaluateRow(D d, const X& x, const Store& store) {
  if constexpr (kPair == 0) {
    store(0, x(0));
    store(kPoints - 1, x(kSize - 1));
  }
  if constexpr (kPair < kPairCount<kPoints>) {
    constexpr double kPoint = Points<kPoints>::kPairs[kPair];
    constexpr int kLastEven = (kSize - 1) / 2 * 2, kLastOdd = kSize / 2 * 2 - 1;
    auto even = x(kLastEven), odd = x(kLastOdd);
    DTNN_UNROLL(8)
    for (int i = kLastEven - 2; i >= 0; i -= 2) even = AddTimes(d, kPoint * kPoint, even, x(i));
    DTNN_UNROLL(8)
    for (int i = kLastOdd - 2; i >= 0; i -= 2) odd = AddTimes(d, kPoint * kPoint, odd, x(i));
    store(1 + 2 * kPair, AddTimes(d, kPoint, odd, even));
    store(2 + 2 * kPair, AddTimes(d, -kPoint, odd, even));
    EvaluateRow<kPoints, kSize, kPair + 1>(d, x, store);
  }
}

// The same along both axes of kSize x kSize coefficients: G g G^T but for the norms of its rows.
template <int kPoints, int kSize, class D, class X, class Store>
HWY_INLINE void Evaluate(D d, const X& x, const Store& store) {
  hn::Vec<D> values[kPoints][kSize];
  DTNN_UNROLL(8)
  for (int j = 0; j < kSize; ++j) {
    EvaluateRow<kPoints, kSize>(
        d, [&](int i) HWY_ATTR { return x(i, j); },
        [&](int i, auto v) HWY_ATTR { values[i][j] = v; });
  }
  DTNN_UNROLL(8)
  for (int i = 0; i < kPoints; ++i) {
    EvaluateRow<kPoints, kSize>(
        d, [&](int j) HWY_ATTR { return values[i][j]; },
        [&](int j, auto v) HWY_ATTR { store(i, j, v); });
  }
}

// Elements kFirst, kFirst + 2, ... of A^T x, kOutputs in all.
template <int kPoints, int kOutputs, int kFirst, class D, class X, class Store>
HWY_INLINE void InvertHalf(D d, const X& x, const Store& store) {
  constexpr int kPairs = kPairCount<kPoints>;
  hn::Vec<D> part[kPairs];  // the even or the odd ones
  DTNN_UNROLL(8)
  for (int i = 0; i < kPairs; ++i) {
    const auto plus = x(1 + 2 * i), minus = x(2 + 2 * i);
    part[i] = kFirst == 0 ? hn::Add(plus, minus) : hn::Sub(plus, minus);
  }
  DTNN_UNROLL(8)
  for (int j = kFirst; j < kOutputs; j += 2) {
    hn::Vec<D> sum;
    int next = 0;
    if (j == 0) {
      sum = x(0);
    } else if (j == kOutputs - 1) {
      sum = x(kPoints - 1);
    } else {
      const double factor = Power(Points<kPoints>::kPairs[0], j);
      sum = factor == 1 ? part[0] : hn::Mul(hn::Set(d, hn::TFromD<D>(factor)), part[0]);
      next = 1;
    }
    DTNN_UNROLL(8)
    for (int i = next; i < kPairs; ++i) {
      sum = AddTimes(d, Power(Points<kPoints>::kPairs[size_t(i)], j), part[i], sum);
    }
    store(j, sum);
  }
}

template <int kPoints, int kOutputs, int kFirst, class D, class X, class Store>
HWY_INLINE void InvertRows(D d, const X& x, const Store& store) {
  constexpr int kRows = (kOutputs - kFirst + 1) / 2;
  hn::Vec<D> row[kRows][kPoints];
  DTNN_UNROLL(8)
  for (int j = 0; j < kPoints; ++j) {
    InvertHalf<kPoints, kOutputs, kFirst>(
        d, [&](int i) HWY_ATTR { return x(i, j); },
        [&](int i, auto v) HWY_ATTR { row[i / 2][j] = v; });
  }
  DTNN_UNROLL(8)
  for (int i = 0; i < kRows; ++i) {
    const auto element = [&](int j) HWY_ATTR { return row[i][j]; };
    const auto put = [&](int j, auto v) HWY_ATTR { store(kFirst + 2 * i, j, v); };
    InvertHalf<kPoints, kOutputs, 0>(d, element, put);
    InvertHalf<kPoints, kOutputs, 1>(d, element, put);
  }
}

// A^T x A, of kOutputs x kOutputs elements.
template <int kPoints, int kOutputs, class D, class X, class Store>
HWY_INLINE void TransformBack(D d, const X& x, const Store& store) {
  InvertRows<kPoints, kOutputs, 0>(d, x, store);
  InvertRows<kPoints, kOutputs, 1>(d, x, store);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace dtnn::conv::winograd
HWY_AFTER_NAMESPACE();

#endif
