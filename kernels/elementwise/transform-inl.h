// Elementwise loops for Highway kernels: include after hwy/highway.h, once per target (no
// dependency on the element type or the operation; elements of bfloat16 are widened to float32 when
// they are loaded, and rounded once when they are stored). Tails are handled by masks, so an
// element's result does not depend on where in a vector it lies, and nothing outside the operands
// is read or written.
//
//   struct Relu {
//     template <class D, class V>
//     HWY_INLINE V operator()(D d, V x) const { return Rectify(d, x); }  // relu-inl.h
//   };
//   // In a file's own unnamed namespace: names of one target are shared by all files.
//   TransformRange<float>(grid, begin, end, Relu(), y, x);    // y = relu(x) on elements [begin,
//   end)

#if defined(DTNN_KERNELS_ELEMENTWISE_TRANSFORM_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DTNN_KERNELS_ELEMENTWISE_TRANSFORM_INL_H_
#undef DTNN_KERNELS_ELEMENTWISE_TRANSFORM_INL_H_
#else
#define DTNN_KERNELS_ELEMENTWISE_TRANSFORM_INL_H_
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "hwy/highway.h"
#include "kernels/elementwise/bfloat16-inl.h"
#include "kernels/elementwise/operands.h"

HWY_BEFORE_NAMESPACE();
namespace dtnn {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// AVX2's masked moves of floats and doubles do not fault either, although Highway, which thinks of
// bytes too, says that they might.
#if !HWY_MEM_OPS_MIGHT_FAULT || HWY_TARGET == HWY_AVX2
#define DTNN_MASKED_MEMORY 1
#else
#define DTNN_MASKED_MEMORY 0
#endif

// The first `count` < Lanes(d) elements at `from`; the other lanes are zero.
template <class D>
HWY_INLINE hn::Vec<D> LoadFirst(D d, const hn::TFromD<D>* from, size_t count) {
#if DTNN_MASKED_MEMORY
  return hn::MaskedLoad(hn::FirstN(d, count), d, from);
#else
  HWY_ALIGN hn::TFromD<D> lanes[HWY_MAX_BYTES / sizeof(hn::TFromD<D>)] = {};
  for (size_t i = 0; i < count; ++i) lanes[i] = from[i];
  return hn::Load(d, lanes);
#endif
}

template <class D>
HWY_INLINE void StoreFirst(hn::Vec<D> v, D d, hn::TFromD<D>* to, size_t count) {
#if DTNN_MASKED_MEMORY
  hn::BlendedStore(v, hn::FirstN(d, count), d, to);
#else
  HWY_ALIGN hn::TFromD<D> lanes[HWY_MAX_BYTES / sizeof(hn::TFromD<D>)];
  hn::Store(v, d, lanes);
  for (size_t i = 0; i < count; ++i) to[i] = lanes[i];
#endif
}

// The same of bfloat16, which is computed with as float32.
template <class D>
HWY_INLINE hn::Vec<D> LoadFirst(D d, const Bfloat16* from, size_t count) {
  const Halves<D> halves;
#if !HWY_MEM_OPS_MIGHT_FAULT
  return Widen(d, hn::MaskedLoad(hn::FirstN(halves, count), halves, Bits(from)));
#else
  HWY_ALIGN uint16_t lanes[HWY_MAX_BYTES / sizeof(uint16_t)] = {};
  for (size_t i = 0; i < count; ++i) lanes[i] = from[i].bits;
  return Widen(d, hn::Load(halves, lanes));
#endif
}
template <class D>
HWY_INLINE void StoreFirst(hn::Vec<D> v, D d, Bfloat16* to, size_t count) {
  const Halves<D> halves;
#if !HWY_MEM_OPS_MIGHT_FAULT
  hn::BlendedStore(Round(d, v), hn::FirstN(halves, count), halves, Bits(to));
#else
  HWY_ALIGN uint16_t lanes[HWY_MAX_BYTES / sizeof(uint16_t)];
  hn::Store(Round(d, v), halves, lanes);
  for (size_t i = 0; i < count; ++i) to[i].bits = lanes[i];
#endif
}

// All lanes of a vector.
template <class D>
HWY_INLINE hn::Vec<D> LoadAll(D d, const hn::TFromD<D>* from) {
  return hn::LoadU(d, from);
}
template <class D>
HWY_INLINE hn::Vec<D> LoadAll(D d, const Bfloat16* from) {
  return Widen(d, hn::LoadU(Halves<D>(), Bits(from)));
}
template <class D>
HWY_INLINE void StoreAll(hn::Vec<D> v, D d, hn::TFromD<D>* to) {
  hn::StoreU(v, d, to);
}
template <class D>
HWY_INLINE void StoreAll(hn::Vec<D> v, D d, Bfloat16* to) {
  hn::StoreU(Round(d, v), Halves<D>(), Bits(to));
}

// How a loop body reaches the elements of its vector: all lanes, or the first few at the end of a
// row.
template <class D>
struct Whole {
  D d;
  template <typename T>
  HWY_INLINE hn::Vec<D> Load(const T* from) const {
    return LoadAll(d, from);
  }
  template <typename T>
  HWY_INLINE void Store(hn::Vec<D> v, T* to) const {
    StoreAll(v, d, to);
  }
  HWY_INLINE size_t count() const { return hn::Lanes(d); }
};

template <class D>
struct Part {
  D d;
  size_t lanes;
  template <typename T>
  HWY_INLINE hn::Vec<D> Load(const T* from) const {
    return LoadFirst(d, from, lanes);
  }
  template <typename T>
  HWY_INLINE void Store(hn::Vec<D> v, T* to) const {
    StoreFirst(v, d, to, lanes);
  }
  HWY_INLINE size_t count() const { return lanes; }
};

// Calls body(access, i) for the vectors that cover elements [0, count).
template <class D, class Body>
HWY_INLINE void ForEachVectorOf(D d, int64_t count, const Body& body) {
  const int64_t lanes = int64_t(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) body(Whole<D>{d}, i);
  if (i < count) body(Part<D>{d, size_t(count - i)}, i);
}
template <typename T, class Body>
HWY_INLINE void ForEachVector(int64_t count, const Body& body) {
  ForEachVectorOf(hn::ScalableTag<Wide<T>>(), count, body);
}

// One int32 per lane of a floating vector, and the exact conversions between the two.
template <class D>
using Integers = hn::Vec<hn::Rebind<int32_t, D>>;

template <class D>
HWY_INLINE Integers<D> ToIntegers(D, hn::Vec<D> v) {
  const hn::Rebind<int32_t, D> integers;
  if constexpr (sizeof(hn::TFromD<D>) == 4) {
    return hn::ConvertTo(integers, v);
  } else {
    return hn::DemoteTo(integers, v);
  }
}
template <class D>
HWY_INLINE hn::Vec<D> FromIntegers(D d, Integers<D> v) {
  if constexpr (sizeof(hn::TFromD<D>) == 4) {
    return hn::ConvertTo(d, v);
  } else {
    return hn::PromoteTo(d, v);
  }
}

// y[i] = op(d, x[i]...) for i < count; y may be any x.
template <typename T, class Op, class... In>
HWY_INLINE void Transform(const Op& op, int64_t count, T* y, const In*... x) {
  const hn::ScalableTag<Wide<T>> d;
  const int64_t lanes = int64_t(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) StoreAll(op(d, LoadAll(d, x + i)...), d, y + i);
  if (const size_t rest = size_t(count - i); rest > 0) {
    StoreFirst(op(d, LoadFirst(d, x + i, rest)...), d, y + i, rest);
  }
}

// The same on elements [begin, end) of a grid, numbered row by row.
template <typename T, class Op, class... In>
HWY_INLINE void TransformRange(const RowGrid& grid, int64_t begin, int64_t end, const Op& op,
                               const Operand& y, const In&... x) {
  int64_t row = begin / grid.columns, column = begin % grid.columns;
  while (begin < end) {
    const int64_t count = std::min(grid.columns - column, end - begin);
    Transform(op, count, y.template At<T>(row, column), x.template At<const T>(row, column)...);
    begin += count;
    ++row;
    column = 0;
  }
}

struct Copied {
  template <class D, class V>
  HWY_INLINE V operator()(D, V x) const {
    return x;
  }
};
struct Sum {
  template <class D, class V>
  HWY_INLINE V operator()(D, V a, V b) const {
    return hn::Add(a, b);
  }
};

// `op` followed by the addition to what the destination held: its last operand is the destination.
template <class Op>
struct Accumulated {
  Op op;
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x, V y) const {
    return hn::Add(y, op(d, x));
  }
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x0, V x1, V y) const {
    return hn::Add(y, op(d, x0, x1));
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace dtnn
HWY_AFTER_NAMESPACE();

#endif  // DTNN_KERNELS_ELEMENTWISE_TRANSFORM_INL_H_
