#include "kernels/softmax/softmax.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "kernels/elementwise/operands.h"
#include "kernels/softmax/check.h"
#include "kernels/softmax/softmax_gpu.h"
#include "tensor/errors.h"
#include "tensor/threads/parallel_for.h"

// Everything up to HWY_ONCE is compiled once per instruction set.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/softmax/softmax.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/elementwise/math-inl.h"
#include "kernels/elementwise/transform-inl.h"

#ifndef DTNN_KERNELS_SOFTMAX_SOFTMAX_CC_
#define DTNN_KERNELS_SOFTMAX_SOFTMAX_CC_
namespace dtnn {

// One pass over rows; which operands take part depends on the function.
struct SoftmaxPass {
  DType dtype;
  bool narrow_result;
  int64_t columns;
  Operand x = {}, y = {}, dy = {}, dx = {};
  bool accumulate = false;
  // Cross entropy only.
  const int32_t* labels = nullptr;
  void* losses = nullptr;
  double gradient_scale = 0, label_smoothing = 0;
};

}  // namespace dtnn
#endif  // DTNN_KERNELS_SOFTMAX_SOFTMAX_CC_

HWY_BEFORE_NAMESPACE();
namespace dtnn {
namespace HWY_NAMESPACE {
namespace {

template <typename T>
Wide<T> MaximumOf(const T* x, int64_t count) {
  const hn::ScalableTag<Wide<T>> d;
  const int64_t lanes = int64_t(hn::Lanes(d));
  const auto lowest = hn::Set(d, -std::numeric_limits<Wide<T>>::infinity());
  auto max = lowest;
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) max = hn::Max(max, LoadAll(d, x + i));
  if (const size_t rest = size_t(count - i); rest > 0) {
    max = hn::Max(max, hn::IfThenElse(hn::FirstN(d, rest), LoadFirst(d, x + i, rest), lowest));
  }
  return hn::GetLane(hn::MaxOfLanes(d, max));
}

// y = e^(x - max), where it is kept; returns the sum of y.
template <bool kKept, typename T>
Wide<T> ExpAndSum(const T* x, Wide<T> max, int64_t count, Wide<T>* y) {
  const hn::ScalableTag<Wide<T>> d;
  const int64_t lanes = int64_t(hn::Lanes(d));
  const auto shift = hn::Set(d, max);
  auto sum = hn::Zero(d);
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto e = ExpOfNonPositive(d, hn::Sub(LoadAll(d, x + i), shift));
    if constexpr (kKept) StoreAll(e, d, y + i);
    sum = hn::Add(sum, e);
  }
  if (const size_t rest = size_t(count - i); rest > 0) {
    const auto e = ExpOfNonPositive(d, hn::Sub(LoadFirst(d, x + i, rest), shift));
    if constexpr (kKept) StoreFirst(e, d, y + i, rest);
    sum = hn::Add(sum, hn::IfThenElseZero(hn::FirstN(d, rest), e));
  }
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

template <typename T>
Wide<T> DotOf(const T* x, const T* y, int64_t count) {
  const hn::ScalableTag<Wide<T>> d;
  const int64_t lanes = int64_t(hn::Lanes(d));
  auto sum = hn::Zero(d);
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    sum = hn::MulAdd(LoadAll(d, x + i), LoadAll(d, y + i), sum);
  }
  if (const size_t rest = size_t(count - i); rest > 0) {
    sum = hn::MulAdd(LoadFirst(d, x + i, rest), LoadFirst(d, y + i, rest), sum);
  }
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

// The sum of max - x.
template <typename T>
Wide<T> DistancesOf(const T* x, Wide<T> max, int64_t count) {
  const hn::ScalableTag<Wide<T>> d;
  const int64_t lanes = int64_t(hn::Lanes(d));
  const auto top = hn::Set(d, max);
  auto sum = hn::Zero(d);
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) sum = hn::Add(sum, hn::Sub(top, LoadAll(d, x + i)));
  if (const size_t rest = size_t(count - i); rest > 0) {
    const auto distance = hn::Sub(top, LoadFirst(d, x + i, rest));
    sum = hn::Add(sum, hn::IfThenElseZero(hn::FirstN(d, rest), distance));
  }
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

template <typename T>
struct ScaledBy {
  T factor;
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return hn::Mul(x, hn::Set(d, factor));
  }
};

// e^(x - max) * factor
template <typename T>
struct ScaledExp {
  T max, factor;
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return hn::Mul(ExpOfNonPositive(d, hn::Sub(x, hn::Set(d, max))), hn::Set(d, factor));
  }
};

template <typename T>
struct ReducedAndScaledBy {
  T less, factor;
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return hn::Mul(hn::Sub(x, hn::Set(d, less)), hn::Set(d, factor));
  }
};

// y * (dy - dot)
template <typename T>
struct SoftmaxGradient {
  T dot;
  template <class D, class V>
  HWY_INLINE V operator()(D d, V y, V dy) const {
    return hn::Mul(y, hn::Sub(dy, hn::Set(d, dot)));
  }
};

// Elements are of type T, results of type R.
template <typename T, typename R>
void ForwardTyped(const SoftmaxPass& pass, int64_t begin, int64_t end) {
  using W = Wide<T>;
  for (int64_t row = begin; row < end; ++row) {
    const T* x = pass.x.At<const T>(row, 0);
    R* y = pass.y.At<R>(row, 0);
    const W max = MaximumOf(x, pass.columns);
    if constexpr (std::is_same_v<R, W>) {
      const W sum = ExpAndSum<true>(x, max, pass.columns, y);
      Transform(ScaledBy<W>{1 / sum}, pass.columns, y, y);
    } else {
      const W sum = ExpAndSum<false>(x, max, pass.columns, static_cast<W*>(nullptr));
      Transform(ScaledExp<W>{max, 1 / sum}, pass.columns, y, x);
    }
  }
}

template <typename T, typename R>
void BackwardTyped(const SoftmaxPass& pass, int64_t begin, int64_t end) {
  using W = Wide<T>;
  for (int64_t row = begin; row < end; ++row) {
    const R *y = pass.y.At<const R>(row, 0), *dy = pass.dy.At<const R>(row, 0);
    T* dx = pass.dx.At<T>(row, 0);
    const SoftmaxGradient<W> gradient = {DotOf(y, dy, pass.columns)};
    if (pass.accumulate) {
      Transform(Accumulated<SoftmaxGradient<W>>{gradient}, pass.columns, dx, y, dy,
                static_cast<const T*>(dx));
    } else {
      Transform(gradient, pass.columns, dx, y, dy);
    }
  }
}

template <typename T>
void CrossEntropyTyped(const SoftmaxPass& pass, int64_t begin, int64_t end) {
  using W = Wide<T>;
  // The clip of the probability, as bounds of the loss; a NaN passes.
  const double least = -std::log1p(-1e-8), most = -std::log(1e-8);
  const double smoothing = pass.label_smoothing;
  const W scale = W(pass.gradient_scale), everywhere = W(smoothing / double(pass.columns));
  for (int64_t row = begin; row < end; ++row) {
    const T* x = pass.x.At<const T>(row, 0);
    W* y = pass.y.At<W>(row, 0);
    const int64_t label = pass.labels[row];
    const W max = MaximumOf(x, pass.columns);
    // Before y or dx overwrite x.
    const double distance = double(max) - double(x[label]);
    const W distances = smoothing == 0 ? W(0) : DistancesOf(x, max, pass.columns);
    const W sum = ExpAndSum<true>(x, max, pass.columns, y);
    const double log_sum = std::log(double(sum));
    double loss = std::clamp(log_sum + distance, least, most);
    if (smoothing != 0) {
      const double all = log_sum + double(distances) / double(pass.columns);
      loss = (1 - smoothing) * loss + smoothing * all;
    }
    static_cast<W*>(pass.losses)[row] = W(loss);
    Transform(ScaledBy<W>{1 / sum}, pass.columns, y, y);
    if (pass.dx.data == nullptr) continue;
    T* dx = pass.dx.At<T>(row, 0);
    if (smoothing == 0) {
      Transform(ScaledBy<W>{scale}, pass.columns, dx, static_cast<const W*>(y));
      dx[label] = T((y[label] - 1) * scale);
    } else {
      Transform(ReducedAndScaledBy<W>{everywhere, scale}, pass.columns, dx,
                static_cast<const W*>(y));
      dx[label] = T((y[label] - W(1 - smoothing) - everywhere) * scale);
    }
  }
}

void ForwardRows(const SoftmaxPass& pass, int64_t begin, int64_t end) {
  DispatchCpuFloating(pass.dtype, [&]<typename T>(T) HWY_ATTR {
    pass.narrow_result ? ForwardTyped<T, T>(pass, begin, end)
                       : ForwardTyped<T, Wide<T>>(pass, begin, end);
  });
}

void BackwardRows(const SoftmaxPass& pass, int64_t begin, int64_t end) {
  DispatchCpuFloating(pass.dtype, [&]<typename T>(T) HWY_ATTR {
    pass.narrow_result ? BackwardTyped<T, T>(pass, begin, end)
                       : BackwardTyped<T, Wide<T>>(pass, begin, end);
  });
}

void CrossEntropyRows(const SoftmaxPass& pass, int64_t begin, int64_t end) {
  DispatchCpuFloating(
      pass.dtype, [&](auto zero) HWY_ATTR { CrossEntropyTyped<decltype(zero)>(pass, begin, end); });
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace dtnn
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dtnn {
namespace {

HWY_EXPORT(ForwardRows);
HWY_EXPORT(BackwardRows);
HWY_EXPORT(CrossEntropyRows);

constexpr TensorFormat kMatrix = TensorFormat::kNHWC;  // matrices have no other format

int64_t GrainOf(int64_t columns) { return std::max<int64_t>(1, kMathGrain / columns); }

class SoftmaxCpu : public Softmax {
 public:
  explicit SoftmaxCpu(const SoftmaxSpec& spec) : spec_(spec) {}

  absl::Status Forward(const Tensor& x, const Tensor& y) override {
    DTNN_RETURN_IF_ERROR(CheckSoftmax("softmax", spec_, Device::Cpu(), {&x}, {&y}));
    const RowGrid grid = {x.shape()[0], spec_.columns};
    SoftmaxPass pass = {
        .dtype = spec_.dtype, .narrow_result = spec_.narrow_result, .columns = spec_.columns};
    pass.x = OperandIn(grid, x, kMatrix);
    pass.y = OperandIn(grid, y, kMatrix);
    ParallelFor(0, grid.rows, GrainOf(grid.columns), [&](int64_t begin, int64_t end) {
      HWY_DYNAMIC_DISPATCH(ForwardRows)(pass, begin, end);
    });
    return absl::OkStatus();
  }

  absl::Status Backward(const Tensor& y, const Tensor& dy, const Tensor& dx,
                        bool accumulate) override {
    DTNN_RETURN_IF_ERROR(CheckSoftmax("softmax", spec_, Device::Cpu(), {&dx}, {&y, &dy}));
    const RowGrid grid = {y.shape()[0], spec_.columns};
    SoftmaxPass pass = {
        .dtype = spec_.dtype, .narrow_result = spec_.narrow_result, .columns = spec_.columns};
    pass.y = OperandIn(grid, y, kMatrix);
    pass.dy = OperandIn(grid, dy, kMatrix);
    pass.dx = OperandIn(grid, dx, kMatrix);
    pass.accumulate = accumulate;
    ParallelFor(0, grid.rows, GrainOf(grid.columns), [&](int64_t begin, int64_t end) {
      HWY_DYNAMIC_DISPATCH(BackwardRows)(pass, begin, end);
    });
    return absl::OkStatus();
  }

 private:
  SoftmaxSpec spec_;
};

class SoftmaxCrossEntropyCpu : public SoftmaxCrossEntropy {
 public:
  explicit SoftmaxCrossEntropyCpu(const SoftmaxSpec& spec) : spec_(spec) {}

  absl::Status Run(const Tensor& x, const Tensor& labels, const Tensor& y, const Tensor& losses,
                   const Tensor& dx, const GradientScale& scale) override {
    DTNN_RETURN_IF_ERROR(
        CheckSoftmaxCrossEntropy(spec_, Device::Cpu(), x, labels, y, losses, dx, scale));
    const RowGrid grid = {x.shape()[0], spec_.columns};
    SoftmaxPass pass = {.dtype = spec_.dtype, .narrow_result = false, .columns = spec_.columns};
    pass.x = OperandIn(grid, x, kMatrix);
    pass.y = OperandIn(grid, y, kMatrix);
    pass.dx = OperandIn(grid, dx, kMatrix);
    pass.labels = labels.data<int32_t>();
    pass.losses = losses.raw_data();
    pass.gradient_scale = scale.OnHost();
    pass.label_smoothing = spec_.label_smoothing;
    ParallelFor(0, grid.rows, GrainOf(grid.columns), [&](int64_t begin, int64_t end) {
      HWY_DYNAMIC_DISPATCH(CrossEntropyRows)(pass, begin, end);
    });
    return absl::OkStatus();
  }

 private:
  SoftmaxSpec spec_;
};

absl::Status Validate(Device device, const SoftmaxSpec& spec) {
  DTNN_RETURN_IF_ERROR(CheckFloating("softmax", device, spec.dtype));
  if (!(spec.label_smoothing >= 0 && spec.label_smoothing < 1)) {
    return InvalidArgument("softmax cross entropy: label smoothing is ", spec.label_smoothing,
                           ", expected 0 <= s < 1");
  }
  if (spec.rows >= 0 && spec.columns >= 1) return absl::OkStatus();
  return InvalidArgument("softmax: ", spec.rows, " rows of ", spec.columns,
                         " columns, expected at least one column");
}

}  // namespace

absl::StatusOr<std::unique_ptr<Softmax>> CreateSoftmax(DeviceContext& context,
                                                       const SoftmaxSpec& spec) {
  DTNN_RETURN_IF_ERROR(Validate(context.device(), spec));
  if (context.device().is_cpu()) return std::make_unique<SoftmaxCpu>(spec);
  return CreateSoftmaxGpu(context, spec);
}

absl::StatusOr<std::unique_ptr<SoftmaxCrossEntropy>> CreateSoftmaxCrossEntropy(
    DeviceContext& context, const SoftmaxSpec& spec) {
  DTNN_RETURN_IF_ERROR(Validate(context.device(), spec));
  if (context.device().is_cpu()) return std::make_unique<SoftmaxCrossEntropyCpu>(spec);
  return CreateSoftmaxCrossEntropyGpu(context, spec);
}

}  // namespace dtnn
#endif  // HWY_ONCE
