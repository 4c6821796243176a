#include "kernels/prelu/prelu.h"

#include <algorithm>
#include <utility>

#include "kernels/bias/bias.h"
#include "kernels/elementwise/operands.h"
#include "kernels/prelu/check.h"
#include "kernels/prelu/prelu_gpu.h"
#include "tensor/errors.h"
#include "tensor/threads/parallel_for.h"

// Everything up to HWY_ONCE is compiled once per instruction set.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/prelu/prelu.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/elementwise/transform-inl.h"

#ifndef DTNN_KERNELS_PRELU_PRELU_CC_
#define DTNN_KERNELS_PRELU_PRELU_CC_
namespace dtnn {

// One pass over rows of channels, or over planes of one channel each, numbered image by image.
struct PReluPass {
  DType dtype;
  bool planes;
  int64_t channels, plane;
  Operand x, dy, dx;
  const void* slopes = nullptr;  // of WideOf the dtype; null: the terms of their gradient
  bool accumulate = false;
};

}  // namespace dtnn
#endif  // DTNN_KERNELS_PRELU_PRELU_CC_

HWY_BEFORE_NAMESPACE();
namespace dtnn {
namespace HWY_NAMESPACE {
namespace {

// The gradient; with x for dy, the function itself.
struct Gradient {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x, V dy, V slope) const {
    const V passed = hn::IfThenElse(hn::Gt(x, hn::Zero(d)), dy, hn::Mul(slope, dy));
    return hn::IfThenElse(hn::IsNaN(x), x, passed);
  }
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x, V dy, V slope, V dx) const {
    return hn::Add(dx, (*this)(d, x, dy, slope));
  }
};
template <typename T>
struct GradientWith {
  T slope;
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x, V dy) const {
    return Gradient()(d, x, dy, hn::Set(d, slope));
  }
};
struct Terms {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x, V dy) const {
    const auto counts = hn::Or(hn::Not(hn::Gt(x, hn::Zero(d))), hn::IsNaN(dy));
    return hn::IfThenElseZero(counts, hn::Mul(x, dy));
  }
};

template <typename T>
void Pass(const PReluPass& pass, int64_t begin, int64_t end) {
  using W = Wide<T>;
  const auto* slopes = static_cast<const W*>(pass.slopes);
  for (int64_t i = begin; i < end; ++i) {
    const int64_t row = pass.planes ? i / pass.channels : i;
    const int64_t channel = pass.planes ? i % pass.channels : 0;
    const int64_t count = pass.planes ? pass.plane : pass.channels, first = channel * pass.plane;
    T* const dx = pass.dx.At<T>(row, first);
    const T *x = pass.x.At<const T>(row, first), *dy = pass.dy.At<const T>(row, first);
    const T* before = dx;
    if (slopes == nullptr) {
      Transform(Terms(), count, dx, x, dy);
    } else if (pass.planes) {
      const GradientWith<W> gradient = {slopes[channel]};
      pass.accumulate ? Transform(Accumulated<GradientWith<W>>{gradient}, count, dx, x, dy, before)
                      : Transform(gradient, count, dx, x, dy);
    } else {
      pass.accumulate ? Transform(Gradient(), count, dx, x, dy, slopes, before)
                      : Transform(Gradient(), count, dx, x, dy, slopes);
    }
  }
}

void PassOf(const PReluPass& pass, int64_t begin, int64_t end) {
  DispatchCpuFloating(pass.dtype,
                      [&](auto zero) HWY_ATTR { Pass<decltype(zero)>(pass, begin, end); });
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace dtnn
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dtnn {
namespace {

HWY_EXPORT(PassOf);

class PReluCpu : public PRelu {
 public:
  PReluCpu(const PReluSpec& spec, std::unique_ptr<Bias> sums)
      : spec_(spec), sums_(std::move(sums)) {}

  absl::Status Forward(const Tensor& x, const Tensor& slopes, const Tensor& y) override {
    DTNN_RETURN_IF_ERROR(CheckPRelu(spec_, Device::Cpu(), {&x, &y}, slopes));
    Run(x, x, y, slopes.raw_data(), /*accumulate=*/false);
    return absl::OkStatus();
  }

  absl::Status Backward(const Tensor& x, const Tensor& slopes, const Tensor& dy, const Tensor& dx,
                        bool accumulate) override {
    DTNN_RETURN_IF_ERROR(CheckPRelu(spec_, Device::Cpu(), {&x, &dy, &dx}, slopes));
    Run(x, dy, dx, slopes.raw_data(), accumulate);
    return absl::OkStatus();
  }

  absl::Status SlopeGradient(const Tensor& x, const Tensor& dy, const Tensor& dslopes) override {
    DTNN_RETURN_IF_ERROR(CheckPRelu(spec_, Device::Cpu(), {&x, &dy}, dslopes));
    Run(x, dy, dy, /*slopes=*/nullptr, /*accumulate=*/false);
    return sums_->Backward(RowsOfChannels(spec_, dy), dslopes, /*accumulate=*/false);
  }

 private:
  void Run(const Tensor& x, const Tensor& dy, const Tensor& dx, const void* slopes,
           bool accumulate) const {
    if (x.num_elements() == 0) return;
    const TensorFormat format = FormatOfChannels(spec_);
    const Tensor seen = OfChannels(spec_, x);
    const Shape& shape = seen.shape();
    // Planes of one element are rows of channels.
    const bool planes =
        shape.rank() == 4 && format == TensorFormat::kNCHW && shape[2] * shape[3] > 1;
    const int64_t plane = planes ? shape[2] * shape[3] : 1;
    const int64_t rows = seen.num_elements() / (spec_.channels * plane);
    const RowGrid grid = {rows, spec_.channels * plane};
    const PReluPass pass = {.dtype = spec_.dtype,
                            .planes = planes,
                            .channels = spec_.channels,
                            .plane = plane,
                            .x = OperandIn(grid, seen, format),
                            .dy = OperandIn(grid, OfChannels(spec_, dy), format),
                            .dx = OperandIn(grid, OfChannels(spec_, dx), format),
                            .slopes = slopes,
                            .accumulate = accumulate};
    const int64_t elements = planes ? plane : spec_.channels;
    ParallelFor(0, planes ? rows * spec_.channels : rows,
                std::max<int64_t>(1, kCopyGrain / elements), [&](int64_t begin, int64_t end) {
                  HWY_DYNAMIC_DISPATCH(PassOf)(pass, begin, end);
                });
  }

  PReluSpec spec_;
  std::unique_ptr<Bias> sums_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<PRelu>> CreatePRelu(DeviceContext& context, const PReluSpec& spec) {
  DTNN_RETURN_IF_ERROR(CheckFloating("prelu", context.device(), spec.dtype));
  DTNN_ASSIGN_OR_RETURN(
      std::unique_ptr<Bias> sums,
      WithContext(CreateBias(context, {spec.channels, spec.format, spec.dtype}), "prelu"));
  if (context.device().is_cpu()) return std::make_unique<PReluCpu>(spec, std::move(sums));
  return CreatePReluGpu(context, spec, std::move(sums));
}

}  // namespace dtnn
#endif  // HWY_ONCE
