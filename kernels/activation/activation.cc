#include "kernels/activation/activation.h"

#include <algorithm>
#include <initializer_list>
#include <limits>

#include "kernels/activation/activation_gpu.h"
#include "kernels/elementwise/operands.h"
#include "tensor/errors.h"
#include "tensor/threads/parallel_for.h"

// From here on, everything up to HWY_ONCE is compiled once per instruction set.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/activation/activation.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/elementwise/math-inl.h"
#include "kernels/elementwise/relu-inl.h"
#include "kernels/elementwise/transform-inl.h"

#ifndef DTNN_KERNELS_ACTIVATION_ACTIVATION_CC_
#define DTNN_KERNELS_ACTIVATION_ACTIVATION_CC_
namespace dtnn {

// One pass over a grid: y = f(x), or dx = f'(point) * dy.
struct ActivationPass {
  ActivationKind kind;
  DType dtype;
  RowGrid grid;
  Operand x = {}, y = {}, point = {}, dy = {}, dx = {};
  bool accumulate = false;
  ActivationNumbers numbers = {};
};

}  // namespace dtnn
#endif  // DTNN_KERNELS_ACTIVATION_ACTIVATION_CC_

HWY_BEFORE_NAMESPACE();
namespace dtnn {
namespace HWY_NAMESPACE {
namespace {

struct Relu {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return Rectify(d, x);
  }
};
struct ReluGradient {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V y, V dy) const {
    return RectifyGradient(d, y, dy);
  }
};

struct SigmoidOp {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return Sigmoid(d, x);
  }
};
struct SigmoidGradient {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V y, V dy) const {
    return hn::Mul(dy, hn::Mul(y, hn::Sub(hn::Set(d, 1), y)));
  }
};

struct TanhOp {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return HWY_NAMESPACE::Tanh(d, x);  // not Highway's
  }
};
struct TanhGradient {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V y, V dy) const {
    return hn::Mul(dy, hn::NegMulAdd(y, y, hn::Set(d, 1)));
  }
};

struct LeakyRelu {
  double slope;
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    const V leak = hn::Mul(x, hn::Set(d, hn::TFromD<D>(slope)));
    return hn::IfThenElse(hn::Gt(x, hn::Zero(d)), x, leak);
  }
};
struct LeakyReluGradient {
  double slope;
  template <class D, class V>
  HWY_INLINE V operator()(D d, V y, V dy) const {
    const V leak = hn::Set(d, hn::TFromD<D>(slope));
    const V factor = hn::IfThenElse(hn::Gt(y, hn::Zero(d)), hn::Set(d, 1), leak);
    return hn::Mul(dy, hn::IfThenElse(hn::IsNaN(y), y, factor));
  }
};

struct Relu6 {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    const V six = hn::Set(d, 6);
    return hn::IfThenZeroElse(hn::Lt(x, hn::Zero(d)), hn::IfThenElse(hn::Gt(x, six), six, x));
  }
};
struct Relu6Gradient {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V y, V dy) const {
    const V above = hn::IfThenElseZero(hn::Or(hn::Lt(y, hn::Set(d, 6)), hn::IsNaN(dy)), dy);
    return hn::IfThenElse(hn::Gt(y, hn::Zero(d)), above, RectifyGradient(d, y, dy));
  }
};

struct ArctanhOp {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return Arctanh(d, x);
  }
};
// cosh(y)^2 = (1 + e)^2 / 4e with e = e^-2|y|, which cannot overflow.
struct ArctanhGradient {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V y, V dy) const {
    const V e = ExpOfNonPositive(d, hn::Mul(hn::Abs(y), hn::Set(d, -2)));
    const V sum = hn::Add(hn::Set(d, 1), e);
    return hn::Mul(dy, hn::Div(hn::Mul(sum, sum), hn::Mul(hn::Set(d, 4), e)));
  }
};

struct LogSigmoidOp {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return LogSigmoid(d, x);
  }
};
struct LogSigmoidGradient {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V y, V dy) const {
    return hn::Mul(dy, OneMinusExp(d, y));
  }
};

struct HardSigmoid {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return hn::Div(Relu6()(d, hn::Add(x, hn::Set(d, 3))), hn::Set(d, 6));
  }
};
struct HardSigmoidGradient {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V y, V dy) const {
    // Six times the output is cut off at the same places.
    const V sixth = hn::Mul(dy, hn::Set(d, hn::TFromD<D>(1.0 / 6)));
    return Relu6Gradient()(d, hn::Mul(y, hn::Set(d, 6)), sixth);
  }
};

struct Silu {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return hn::Mul(x, Sigmoid(d, x));
  }
};
struct SiluGradient {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x, V dy) const {
    const V inner = hn::MulAdd(x, Sigmoid(d, hn::Neg(x)), hn::Set(d, 1));
    return hn::Mul(dy, hn::Mul(Sigmoid(d, x), inner));
  }
};

struct Gelu {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return hn::Mul(x, NormalDistribution(d, x));
  }
};
struct GeluGradient {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x, V dy) const {
    const V density = hn::Mul(NormalBell(d, x), hn::Set(d, hn::TFromD<D>(0.3989422804014327)));
    return hn::Mul(dy, hn::MulAdd(x, density, NormalDistribution(d, x)));
  }
};

struct HardSwish {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return hn::Mul(x, HardSigmoid()(d, x));
  }
};
struct HardSwishGradient {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x, V dy) const {
    const V three = hn::Set(d, 3), sixth = hn::Set(d, hn::TFromD<D>(1.0 / 6));
    const V inside = hn::Mul(hn::Add(hn::Add(x, x), three), sixth);
    const V below = hn::IfThenZeroElse(hn::Le(x, hn::Neg(three)), inside);
    return hn::Mul(dy, hn::IfThenElse(hn::Ge(x, three), hn::Set(d, 1), below));
  }
};

struct Elu {
  double alpha;
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    const V below = hn::Mul(OneMinusExp(d, x), hn::Set(d, hn::TFromD<D>(-alpha)));
    return hn::IfThenElse(hn::Gt(x, hn::Zero(d)), x, below);
  }
};
struct EluGradient {
  double alpha;
  template <class D, class V>
  HWY_INLINE V operator()(D d, V y, V dy) const {
    const V below = hn::Add(y, hn::Set(d, hn::TFromD<D>(alpha)));
    return hn::Mul(dy, hn::IfThenElse(hn::Gt(y, hn::Zero(d)), hn::Set(d, 1), below));
  }
};

struct Clip {
  double low, high;
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    const V least = hn::Set(d, hn::TFromD<D>(low)), most = hn::Set(d, hn::TFromD<D>(high));
    return hn::IfThenElse(hn::Lt(x, least), least, hn::IfThenElse(hn::Gt(x, most), most, x));
  }
};
struct ClipGradient {
  double low, high;
  template <class D, class V>
  HWY_INLINE V operator()(D d, V y, V dy) const {
    const auto passes = hn::And(hn::Gt(y, hn::Set(d, hn::TFromD<D>(low))),
                                hn::Lt(y, hn::Set(d, hn::TFromD<D>(high))));
    const V inside = hn::IfThenElseZero(hn::Or(passes, hn::IsNaN(dy)), dy);
    return hn::IfThenElse(hn::IsNaN(y), y, inside);
  }
};

struct Softplus {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return hn::Neg(LogSigmoid(d, hn::Neg(x)));
  }
};
struct SoftplusGradient {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V y, V dy) const {
    return hn::Mul(dy, OneMinusExp(d, hn::Neg(y)));
  }
};

// t = tanh(log(1 + e^x)) = (w - 2) / w with w = e^2x + 2 e^x + 2; where x > 0, both are divided by
// e^2x, so that nothing overflows: with e = e^-|x|, w is 1 + 2 e + 2 e^2 there.
template <class D, class V>
HWY_INLINE V TanhOfSoftplus(D d, V x, V e, V& w) {
  const V one = hn::Set(d, 1), two = hn::Set(d, 2);
  const auto positive = hn::Gt(x, hn::Zero(d));
  const V below = hn::Mul(e, hn::Add(e, two)), above = hn::MulAdd(e, two, one);
  w = hn::IfThenElse(positive, hn::MulAdd(hn::Mul(e, e), two, above), hn::Add(below, two));
  return hn::Div(hn::IfThenElse(positive, above, below), w);
}
struct Mish {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    V w;
    return hn::Mul(x, TanhOfSoftplus(d, x, ExpOfNonPositive(d, hn::Neg(hn::Abs(x))), w));
  }
};
// (1 - t^2) sigmoid x = 4 e (1 + e) / w^2 with e = e^x, and e times that where e = e^-x.
struct MishGradient {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x, V dy) const {
    const V e = ExpOfNonPositive(d, hn::Neg(hn::Abs(x)));
    V w;
    const V t = TanhOfSoftplus(d, x, e, w);
    const V quotient = hn::Div(hn::Mul(hn::MulAdd(e, e, e), hn::Set(d, 4)), hn::Mul(w, w));
    const V slope = hn::IfThenElse(hn::Gt(x, hn::Zero(d)), hn::Mul(quotient, e), quotient);
    return hn::Mul(dy, hn::MulAdd(x, slope, t));
  }
};

template <typename T>
void ForwardTyped(const ActivationPass& pass, int64_t begin, int64_t end) {
  switch (pass.kind) {
    case ActivationKind::kRelu:
      return TransformRange<T>(pass.grid, begin, end, Relu(), pass.y, pass.x);
    case ActivationKind::kSigmoid:
      return TransformRange<T>(pass.grid, begin, end, SigmoidOp(), pass.y, pass.x);
    case ActivationKind::kTanh:
      return TransformRange<T>(pass.grid, begin, end, TanhOp(), pass.y, pass.x);
    case ActivationKind::kLeakyRelu:
      return TransformRange<T>(pass.grid, begin, end, LeakyRelu{pass.numbers.slope}, pass.y,
                               pass.x);
    case ActivationKind::kRelu6:
      return TransformRange<T>(pass.grid, begin, end, Relu6(), pass.y, pass.x);
    case ActivationKind::kArctanh:
      return TransformRange<T>(pass.grid, begin, end, ArctanhOp(), pass.y, pass.x);
    case ActivationKind::kLog:
      return TransformRange<T>(pass.grid, begin, end, LogSigmoidOp(), pass.y, pass.x);
    case ActivationKind::kHardSigmoid:
      return TransformRange<T>(pass.grid, begin, end, HardSigmoid(), pass.y, pass.x);
    case ActivationKind::kSilu:
      return TransformRange<T>(pass.grid, begin, end, Silu(), pass.y, pass.x);
    case ActivationKind::kGelu:
      return TransformRange<T>(pass.grid, begin, end, Gelu(), pass.y, pass.x);
    case ActivationKind::kHardSwish:
      return TransformRange<T>(pass.grid, begin, end, HardSwish(), pass.y, pass.x);
    case ActivationKind::kElu:
      return TransformRange<T>(pass.grid, begin, end, Elu{pass.numbers.alpha}, pass.y, pass.x);
    case ActivationKind::kClip:
      return TransformRange<T>(pass.grid, begin, end, Clip{pass.numbers.low, pass.numbers.high},
                               pass.y, pass.x);
    case ActivationKind::kSoftplus:
      return TransformRange<T>(pass.grid, begin, end, Softplus(), pass.y, pass.x);
    case ActivationKind::kMish:
      return TransformRange<T>(pass.grid, begin, end, Mish(), pass.y, pass.x);
  }
}

template <typename T, class Gradient>
void BackwardWith(const ActivationPass& pass, int64_t begin, int64_t end,
                  const Gradient& gradient = {}) {
  if (pass.accumulate) {
    TransformRange<T>(pass.grid, begin, end, Accumulated<Gradient>{gradient}, pass.dx, pass.point,
                      pass.dy, pass.dx);
  } else {
    TransformRange<T>(pass.grid, begin, end, gradient, pass.dx, pass.point, pass.dy);
  }
}

template <typename T>
void BackwardTyped(const ActivationPass& pass, int64_t begin, int64_t end) {
  switch (pass.kind) {
    case ActivationKind::kRelu:
      return BackwardWith<T, ReluGradient>(pass, begin, end);
    case ActivationKind::kSigmoid:
      return BackwardWith<T, SigmoidGradient>(pass, begin, end);
    case ActivationKind::kTanh:
      return BackwardWith<T, TanhGradient>(pass, begin, end);
    case ActivationKind::kLeakyRelu:
      return BackwardWith<T, LeakyReluGradient>(pass, begin, end, {pass.numbers.slope});
    case ActivationKind::kRelu6:
      return BackwardWith<T, Relu6Gradient>(pass, begin, end);
    case ActivationKind::kArctanh:
      return BackwardWith<T, ArctanhGradient>(pass, begin, end);
    case ActivationKind::kLog:
      return BackwardWith<T, LogSigmoidGradient>(pass, begin, end);
    case ActivationKind::kHardSigmoid:
      return BackwardWith<T, HardSigmoidGradient>(pass, begin, end);
    case ActivationKind::kSilu:
      return BackwardWith<T, SiluGradient>(pass, begin, end);
    case ActivationKind::kGelu:
      return BackwardWith<T, GeluGradient>(pass, begin, end);
    case ActivationKind::kHardSwish:
      return BackwardWith<T, HardSwishGradient>(pass, begin, end);
    case ActivationKind::kElu:
      return BackwardWith<T, EluGradient>(pass, begin, end, {pass.numbers.alpha});
    case ActivationKind::kClip:
      return BackwardWith<T, ClipGradient>(pass, begin, end, {pass.numbers.low, pass.numbers.high});
    case ActivationKind::kSoftplus:
      return BackwardWith<T, SoftplusGradient>(pass, begin, end);
    case ActivationKind::kMish:
      return BackwardWith<T, MishGradient>(pass, begin, end);
  }
}

void ForwardRange(const ActivationPass& pass, int64_t begin, int64_t end) {
  DispatchCpuFloating(pass.dtype,
                      [&](auto zero) HWY_ATTR { ForwardTyped<decltype(zero)>(pass, begin, end); });
}

void BackwardRange(const ActivationPass& pass, int64_t begin, int64_t end) {
  DispatchCpuFloating(pass.dtype,
                      [&](auto zero) HWY_ATTR { BackwardTyped<decltype(zero)>(pass, begin, end); });
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace dtnn
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dtnn {
namespace {

HWY_EXPORT(ForwardRange);
HWY_EXPORT(BackwardRange);

class ActivationCpu : public Activation {
 public:
  explicit ActivationCpu(const ActivationSpec& spec) : spec_(spec) {}

  absl::Status Forward(const Tensor& x, const Tensor& y) override {
    DTNN_RETURN_IF_ERROR(CheckOperands(Name(spec_.kind), Device::Cpu(), spec_.dtype, {&x, &y}));
    ActivationPass pass = PassOver(GridOf(spec_.format, {&x, &y}));
    pass.x = OperandIn(pass.grid, x, spec_.format);
    pass.y = OperandIn(pass.grid, y, spec_.format);
    const bool math =
        IsOneOf({ActivationKind::kSigmoid, ActivationKind::kTanh, ActivationKind::kArctanh,
                 ActivationKind::kLog, ActivationKind::kSilu, ActivationKind::kGelu,
                 ActivationKind::kElu, ActivationKind::kSoftplus, ActivationKind::kMish});
    ParallelFor(0, pass.grid.size(), math ? kMathGrain : kCopyGrain,
                [&](int64_t begin, int64_t end) {
                  HWY_DYNAMIC_DISPATCH(ForwardRange)(pass, begin, end);
                });
    return absl::OkStatus();
  }

  absl::Status Backward(const Tensor& point, const Tensor& dy, const Tensor& dx,
                        bool accumulate) override {
    DTNN_RETURN_IF_ERROR(
        CheckOperands(Name(spec_.kind), Device::Cpu(), spec_.dtype, {&point, &dy, &dx}));
    ActivationPass pass = PassOver(GridOf(spec_.format, {&point, &dy, &dx}));
    pass.point = OperandIn(pass.grid, point, spec_.format);
    pass.dy = OperandIn(pass.grid, dy, spec_.format);
    pass.dx = OperandIn(pass.grid, dx, spec_.format);
    pass.accumulate = accumulate;
    const bool math =
        IsOneOf({ActivationKind::kArctanh, ActivationKind::kLog, ActivationKind::kSilu,
                 ActivationKind::kGelu, ActivationKind::kSoftplus, ActivationKind::kMish});
    ParallelFor(0, pass.grid.size(), math ? kMathGrain : kCopyGrain,
                [&](int64_t begin, int64_t end) {
                  HWY_DYNAMIC_DISPATCH(BackwardRange)(pass, begin, end);
                });
    return absl::OkStatus();
  }

 private:
  ActivationPass PassOver(const RowGrid& grid) const {
    return {.kind = spec_.kind, .dtype = spec_.dtype, .grid = grid, .numbers = spec_.numbers};
  }
  bool IsOneOf(std::initializer_list<ActivationKind> kinds) const {
    return std::find(kinds.begin(), kinds.end(), spec_.kind) != kinds.end();
  }

  ActivationSpec spec_;
};

}  // namespace

std::string_view Name(ActivationKind kind) {
  switch (kind) {
    case ActivationKind::kRelu:
      return "relu";
    case ActivationKind::kSigmoid:
      return "sigmoid";
    case ActivationKind::kTanh:
      return "tanh";
    case ActivationKind::kLeakyRelu:
      return "leaky_relu";
    case ActivationKind::kRelu6:
      return "relu6";
    case ActivationKind::kArctanh:
      return "arctanh";
    case ActivationKind::kLog:
      return "log";
    case ActivationKind::kHardSigmoid:
      return "hard_sigmoid";
    case ActivationKind::kSilu:
      return "silu";
    case ActivationKind::kGelu:
      return "gelu";
    case ActivationKind::kHardSwish:
      return "hard_swish";
    case ActivationKind::kElu:
      return "elu";
    case ActivationKind::kClip:
      return "clip";
    case ActivationKind::kSoftplus:
      return "softplus";
    case ActivationKind::kMish:
      return "mish";
  }
  return "unknown";
}

absl::Status CheckNumbers(ActivationKind kind, const ActivationNumbers& numbers) {
  constexpr double kMost = std::numeric_limits<float>::max();
  const bool leaky = kind == ActivationKind::kLeakyRelu;
  if (leaky || kind == ActivationKind::kElu) {
    const double number = leaky ? numbers.slope : numbers.alpha;
    if (number >= 0 && number <= kMost) return absl::OkStatus();
    return InvalidArgument(leaky ? "slope is " : "alpha is ", number,
                           ", expected a number from 0 on that a float can be");
  }
  if (kind != ActivationKind::kClip ||
      (numbers.low >= -kMost && numbers.low <= numbers.high && numbers.high <= kMost)) {
    return absl::OkStatus();
  }
  return InvalidArgument("clips from ", numbers.low, " to ", numbers.high,
                         ", expected two numbers that floats can be, the smaller one first");
}

absl::StatusOr<std::unique_ptr<Activation>> CreateActivation(DeviceContext& context,
                                                             const ActivationSpec& spec) {
  DTNN_RETURN_IF_ERROR(CheckFloating(Name(spec.kind), context.device(), spec.dtype));
  DTNN_RETURN_IF_ERROR(WithContext(CheckNumbers(spec.kind, spec.numbers), Name(spec.kind)));
  // What was clipped has the bound that elements can have: the gradient compares with it.
  ActivationSpec rounded = spec;
  DispatchGpuFloating(spec.dtype, [&]<typename T>(T) {
    rounded.numbers.low = double(Wide<T>(T(Wide<T>(spec.numbers.low))));
    rounded.numbers.high = double(Wide<T>(T(Wide<T>(spec.numbers.high))));
  });
  if (context.device().is_cpu()) return std::make_unique<ActivationCpu>(rounded);
  return CreateActivationGpu(context, rounded);
}

}  // namespace dtnn
#endif  // HWY_ONCE
