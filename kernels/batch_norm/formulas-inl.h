// The steps of batch_norm_cpu.h on one vector of elements: include after hwy/highway.h, once per
// target. `access` (kernels/elementwise/transform-inl.h) says which lanes there are; a step first
// loads the coefficients of a place, which the caller keeps for as many vectors as they serve.

#if defined(DTNN_KERNELS_BATCH_NORM_FORMULAS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DTNN_KERNELS_BATCH_NORM_FORMULAS_INL_H_
#undef DTNN_KERNELS_BATCH_NORM_FORMULAS_INL_H_
#else
#define DTNN_KERNELS_BATCH_NORM_FORMULAS_INL_H_
#endif

#include <cstdint>

#include "hwy/highway.h"
#include "kernels/batch_norm/batch_norm_cpu.h"
#include "kernels/elementwise/relu-inl.h"
#include "kernels/elementwise/transform-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dtnn {
namespace HWY_NAMESPACE {
namespace batch_norm {
namespace hn = hwy::HWY_NAMESPACE;

// An access whose lanes are all the same element: the coefficients of a plane.
template <class D>
struct Same {
  D d;
  HWY_INLINE hn::Vec<D> Load(const hn::TFromD<D>* from) const { return hn::Set(d, *from); }
};

// 0 in the lanes that are not there.
template <class D>
HWY_INLINE hn::Vec<D> Keep(const Whole<D>&, hn::Vec<D> v) {
  return v;
}
template <class D>
HWY_INLINE hn::Vec<D> Keep(const Part<D>& part, hn::Vec<D> v) {
  return hn::IfThenElseZero(hn::FirstN(part.d, part.lanes), v);
}

// The first element of a vector in each operand of a pass.
template <typename T>
struct Elements {
  const T *x, *dy, *other;
  T* out;
  static HWY_INLINE Elements At(const BatchNormPass& pass, int64_t row, int64_t column) {
    return {pass.x.At<const T>(row, column), pass.dy.At<const T>(row, column),
            pass.other.At<const T>(row, column), pass.out.At<T>(row, column)};
  }
  HWY_INLINE Elements operator+(int64_t i) const { return {x + i, dy + i, other + i, out + i}; }
};

template <typename T>
struct Moments {
  const Wide<T>* mean;
  explicit Moments(const BatchNormPass& pass) : mean(pass.At<Wide<T>>(BatchNormPass::kMean)) {}

  template <class A>
  HWY_INLINE auto Load(const A& access, int64_t at) const {
    return access.Load(mean + at);
  }
  template <class A, class V>
  HWY_INLINE void Add(const A& access, V mean, const Elements<T>& at, V& sum1, V& sum2) const {
    const V d = Keep(access, hn::Sub(access.Load(at.x), mean));
    sum1 = hn::Add(sum1, d);
    sum2 = hn::MulAdd(d, d, sum2);
  }
};

template <class V>
struct Line {
  V mean, scale, shift;
};

template <typename T>
struct LineOf {
  const Wide<T>*mean, *scale, *shift;
  explicit LineOf(const BatchNormPass& pass)
      : mean(pass.At<Wide<T>>(BatchNormPass::kMean)),
        scale(pass.At<Wide<T>>(BatchNormPass::kScale)),
        shift(pass.At<Wide<T>>(BatchNormPass::kShift)) {}

  template <class A>
  HWY_INLINE auto Load(const A& access, int64_t at) const {
    return Line<hn::Vec<decltype(access.d)>>{access.Load(mean + at), access.Load(scale + at),
                                             access.Load(shift + at)};
  }
};

template <bool kRelu, class D, class V>
HWY_INLINE V Cut(D d, V y) {
  if constexpr (kRelu) return Rectify(d, y);
  return y;
}
template <bool kRelu, class D, class V>
HWY_INLINE V CutGradient(D d, const Line<V>& line, V difference, V dy) {
  if constexpr (kRelu) {
    return RectifyGradient(d, hn::MulAdd(line.scale, difference, line.shift), dy);
  }
  return dy;
}

template <typename T, bool kAdd, bool kRelu>
struct Apply {
  LineOf<T> line;
  explicit Apply(const BatchNormPass& pass) : line(pass) {}

  template <class A>
  HWY_INLINE auto Load(const A& access, int64_t at) const {
    return line.Load(access, at);
  }
  template <class A, class V>
  HWY_INLINE void Write(const A& access, const Line<V>& c, const Elements<T>& at) const {
    V y = hn::MulAdd(c.scale, hn::Sub(access.Load(at.x), c.mean), c.shift);
    if constexpr (kAdd) y = hn::Add(y, access.Load(at.other));
    access.Store(Cut<kRelu>(access.d, y), at.out);
  }
};

template <typename T, bool kRelu>
struct Gradients {
  LineOf<T> line;
  explicit Gradients(const BatchNormPass& pass) : line(pass) {}

  template <class A>
  HWY_INLINE auto Load(const A& access, int64_t at) const {
    return line.Load(access, at);
  }
  // The lanes of dy that are not there are 0.
  template <class A, class V>
  HWY_INLINE void Add(const A& access, const Line<V>& c, const Elements<T>& at, V& sum1,
                      V& sum2) const {
    const V d = hn::Sub(access.Load(at.x), c.mean);
    const V g = CutGradient<kRelu>(access.d, c, d, access.Load(at.dy));
    sum1 = hn::Add(sum1, g);
    sum2 = hn::MulAdd(g, d, sum2);
  }
};

// What a relu after y lets through of dy, written to `out`.
template <typename T>
struct CutByOutput {
  explicit CutByOutput(const BatchNormPass&) {}

  template <class A>
  HWY_INLINE auto Load(const A& access, int64_t /*at*/) const {
    return hn::Zero(access.d);
  }
  template <class A, class V>
  HWY_INLINE void Write(const A& access, V /*unused*/, const Elements<T>& at) const {
    access.Store(RectifyGradient(access.d, access.Load(at.other), access.Load(at.dy)), at.out);
  }
};

template <typename T>
struct CuttingGradients {
  const Wide<T>* mean;
  explicit CuttingGradients(const BatchNormPass& pass)
      : mean(pass.At<Wide<T>>(BatchNormPass::kMean)) {}

  template <class A>
  HWY_INLINE auto Load(const A& access, int64_t at) const {
    return access.Load(mean + at);
  }
  template <class A, class V>
  HWY_INLINE void Add(const A& access, V mean, const Elements<T>& at, V& sum1, V& sum2) const {
    const V d = hn::Sub(access.Load(at.x), mean);
    const V g = RectifyGradient(access.d, access.Load(at.other), access.Load(at.dy));
    access.Store(g, at.out);
    sum1 = hn::Add(sum1, g);
    sum2 = hn::MulAdd(g, d, sum2);
  }
};

template <typename T, bool kRelu, bool kAccumulate>
struct Data {
  LineOf<T> line;
  const Wide<T>*slope, *offset;
  explicit Data(const BatchNormPass& pass)
      : line(pass),
        slope(pass.At<Wide<T>>(BatchNormPass::kSlope)),
        offset(pass.At<Wide<T>>(BatchNormPass::kOffset)) {}

  template <class V>
  struct Plane {
    Line<V> line;
    V slope, offset;
  };
  template <class A>
  HWY_INLINE auto Load(const A& access, int64_t at) const {
    return Plane<hn::Vec<decltype(access.d)>>{line.Load(access, at), access.Load(slope + at),
                                              access.Load(offset + at)};
  }
  template <class A, class C>
  HWY_INLINE void Write(const A& access, const C& c, const Elements<T>& at) const {
    const auto d = hn::Sub(access.Load(at.x), c.line.mean);
    const auto g = CutGradient<kRelu>(access.d, c.line, d, access.Load(at.dy));
    // A slope of 0 is that of inference, where an infinite x has no part in the gradient.
    const auto slopes = hn::IfThenElseZero(hn::Ne(c.slope, hn::Zero(access.d)), d);
    auto dx = hn::MulAdd(c.line.scale, g, hn::MulAdd(c.slope, slopes, c.offset));
    if constexpr (kAccumulate) dx = hn::Add(access.Load(at.out), dx);
    access.Store(dx, at.out);
  }
};

// Calls run(step) with the step of a pass that sums, or writes. After an addition the relu has cut
// dy before.
template <typename T, class Run>
HWY_INLINE void WithSum(const BatchNormPass& pass, const Run& run) {
  if (pass.step == BatchNormStep::kMoments) return run(Moments<T>(pass));
  if (pass.relu && pass.add) return run(CuttingGradients<T>(pass));
  if (pass.relu) return run(Gradients<T, true>(pass));
  return run(Gradients<T, false>(pass));
}
template <typename T, bool kRelu, class Run>
HWY_INLINE void WithMap(const BatchNormPass& pass, const Run& run) {
  if (pass.step == BatchNormStep::kApply) {
    if (pass.add) return run(Apply<T, true, kRelu>(pass));
    return run(Apply<T, false, kRelu>(pass));
  }
  if (pass.accumulate) return run(Data<T, kRelu, true>(pass));
  return run(Data<T, kRelu, false>(pass));
}
template <typename T, class Run>
HWY_INLINE void WithMap(const BatchNormPass& pass, const Run& run) {
  if (pass.step == BatchNormStep::kCut) return run(CutByOutput<T>(pass));
  const bool cut_before = pass.add && pass.step == BatchNormStep::kData;
  if (pass.relu && !cut_before) return WithMap<T, true>(pass, run);
  return WithMap<T, false>(pass, run);
}

}  // namespace batch_norm
}  // namespace HWY_NAMESPACE
}  // namespace dtnn
HWY_AFTER_NAMESPACE();

#endif  // DTNN_KERNELS_BATCH_NORM_FORMULAS_INL_H_
