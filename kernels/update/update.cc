#include "kernels/update/update.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "kernels/elementwise/operands.h"
#include "kernels/update/average_decay.h"
#include "kernels/update/check.h"
#include "kernels/update/update_gpu.h"
#include "tensor/errors.h"
#include "tensor/threads/parallel_for.h"

// Everything up to HWY_ONCE is compiled once per instruction set.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/update/update.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/elementwise/transform-inl.h"

#ifndef DTNN_KERNELS_UPDATE_UPDATE_CC_
#define DTNN_KERNELS_UPDATE_UPDATE_CC_
namespace dtnn {

struct UpdatePass {
  const UpdateSpec* spec;
  void *parameters, *first_slot, *second_slot, *average;  // slots: null where there is none
  const void* gradients;
  double rate, gradient_scale;
  double correction1, correction2;  // 1 / (1 - beta^step)
  double average_rest;              // 1 - d_t
};

}  // namespace dtnn
#endif  // DTNN_KERNELS_UPDATE_UPDATE_CC_

HWY_BEFORE_NAMESPACE();
namespace dtnn {
namespace HWY_NAMESPACE {
namespace {

// The operands and constants of a pass in the arena's type.
template <typename T>
struct Typed {
  Typed(const UpdatePass& pass, bool decays)
      : w(static_cast<T*>(pass.parameters)),
        first(static_cast<T*>(pass.first_slot)),
        second(static_cast<T*>(pass.second_slot)),
        average(static_cast<T*>(pass.average)),
        g(static_cast<const T*>(pass.gradients)),
        rate(T(pass.rate)),
        decay(decays ? T(pass.spec->decay) : T(0)),
        gradient_scale(T(pass.gradient_scale)),
        epsilon(T(pass.spec->epsilon)),
        correction1(T(pass.correction1)),
        correction2(T(pass.correction2)),
        average_rest(T(pass.average_rest)) {}

  T *w, *first, *second, *average;
  const T* g;
  T rate, decay, gradient_scale, epsilon, correction1, correction2, average_rest;
};

// Each rule takes the gradient and its slots' places and returns what is added to decay * w.
template <typename T, bool kMomentum, bool kNesterov>
struct Sgd {
  explicit Sgd(const UpdateSpec& spec) : momentum(T(spec.momentum)) {}
  template <class D, template <class> class Access>
  HWY_INLINE hn::Vec<D> operator()(const Typed<T>& pass, const Access<D>& access, hn::Vec<D> g,
                                   int64_t i) const {
    if constexpr (kMomentum) {
      const auto factor = hn::Set(access.d, momentum);
      const auto v = hn::MulAdd(factor, access.Load(pass.first + i), g);
      access.Store(v, pass.first + i);
      return kNesterov ? hn::MulAdd(factor, v, g) : v;
    } else {
      return g;
    }
  }
  T momentum;
};

// The moving average of g^2: rest is 1 - beta.
template <class D>
HWY_INLINE hn::Vec<D> SecondMoment(D d, hn::TFromD<D> beta, hn::TFromD<D> rest, hn::Vec<D> before,
                                   hn::Vec<D> g) {
  return hn::MulAdd(hn::Set(d, beta), before, hn::Mul(hn::Set(d, rest), hn::Mul(g, g)));
}

template <typename T>
struct Rmsprop {
  explicit Rmsprop(const UpdateSpec& spec) : rho(T(spec.rho)), rest(T(1 - spec.rho)) {}
  template <class D, template <class> class Access>
  HWY_INLINE hn::Vec<D> operator()(const Typed<T>& pass, const Access<D>& access, hn::Vec<D> g,
                                   int64_t i) const {
    const D d = access.d;
    const auto c = SecondMoment(d, rho, rest, access.Load(pass.first + i), g);
    access.Store(c, pass.first + i);
    return hn::Div(g, hn::Sqrt(hn::Add(c, hn::Set(d, pass.epsilon))));
  }
  T rho, rest;
};

template <typename T, UpdateRule kRule>
struct Adam {
  explicit Adam(const UpdateSpec& spec)
      : beta1(T(spec.beta1)),
        rest1(T(1 - spec.beta1)),
        beta2(T(spec.beta2)),
        rest2(T(1 - spec.beta2)) {}
  template <class D, template <class> class Access>
  HWY_INLINE hn::Vec<D> operator()(const Typed<T>& pass, const Access<D>& access, hn::Vec<D> g,
                                   int64_t i) const {
    const D d = access.d;
    const auto fresh = hn::Mul(hn::Set(d, rest1), g);
    const auto m = hn::MulAdd(hn::Set(d, beta1), access.Load(pass.first + i), fresh);
    const auto v = SecondMoment(d, beta2, rest2, access.Load(pass.second + i), g);
    access.Store(m, pass.first + i);
    access.Store(v, pass.second + i);
    const auto correction2 = hn::Set(d, pass.correction2), epsilon = hn::Set(d, pass.epsilon);
    const auto root = kRule == UpdateRule::kAdamw
                          ? hn::Add(hn::Sqrt(hn::Mul(v, correction2)), epsilon)
                          : hn::Sqrt(hn::MulAdd(v, correction2, epsilon));
    const auto ahead = kRule == UpdateRule::kNadam ? hn::Add(m, fresh) : m;
    return hn::Div(hn::Mul(ahead, hn::Set(d, pass.correction1)), root);
  }
  T beta1, rest1, beta2, rest2;
};

template <typename T, class Rule>
void UpdateWith(const UpdatePass& untyped, bool decays, int64_t begin, int64_t end) {
  const Typed<T> pass(untyped, decays);
  const Rule rule(*untyped.spec);
  ForEachVector<T>(end - begin, [&](const auto& access, int64_t offset) HWY_ATTR {
    const auto d = access.d;
    const int64_t i = begin + offset;
    const auto w = access.Load(pass.w + i);
    const auto g = hn::Mul(access.Load(pass.g + i), hn::Set(d, pass.gradient_scale));
    const auto direction = hn::MulAdd(hn::Set(d, pass.decay), w, rule(pass, access, g, i));
    const auto updated = hn::NegMulAdd(hn::Set(d, pass.rate), direction, w);
    access.Store(updated, pass.w + i);
    if (pass.average == nullptr) return;
    const auto average = access.Load(pass.average + i);
    access.Store(hn::MulAdd(hn::Set(d, pass.average_rest), hn::Sub(updated, average), average),
                 pass.average + i);
  });
}

template <typename T>
void UpdateTyped(const UpdatePass& pass, bool decays, int64_t begin, int64_t end) {
  switch (pass.spec->rule) {
    case UpdateRule::kSgd:
      // Without momentum, Nesterov's rule is the plain one.
      if (pass.spec->moments() == 0) {
        return UpdateWith<T, Sgd<T, false, false>>(pass, decays, begin, end);
      }
      if (pass.spec->nesterov) return UpdateWith<T, Sgd<T, true, true>>(pass, decays, begin, end);
      return UpdateWith<T, Sgd<T, true, false>>(pass, decays, begin, end);
    case UpdateRule::kRmsprop:
      return UpdateWith<T, Rmsprop<T>>(pass, decays, begin, end);
    case UpdateRule::kAdam:
      return UpdateWith<T, Adam<T, UpdateRule::kAdam>>(pass, decays, begin, end);
    case UpdateRule::kNadam:
      return UpdateWith<T, Adam<T, UpdateRule::kNadam>>(pass, decays, begin, end);
    case UpdateRule::kAdamw:
      return UpdateWith<T, Adam<T, UpdateRule::kAdamw>>(pass, decays, begin, end);
  }
}

void UpdateRange(const UpdatePass& pass, bool decays, int64_t begin, int64_t end) {
  pass.spec->dtype == DType::kFloat32 ? UpdateTyped<float>(pass, decays, begin, end)
                                      : UpdateTyped<double>(pass, decays, begin, end);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace dtnn
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dtnn {
namespace {

HWY_EXPORT(UpdateRange);

// Calls body(begin, end, decays) for the pieces of [begin, end) inside and between the ranges.
template <class Body>
void ForEachPiece(const std::vector<ArenaRange>& without_decay, int64_t begin, int64_t end,
                  const Body& body) {
  auto range = std::ranges::upper_bound(without_decay, begin, {}, &ArenaRange::end);
  while (begin < end) {
    const bool decays = range == without_decay.end() || begin < range->begin;
    const int64_t limit = range == without_decay.end() ? end : decays ? range->begin : range->end;
    const int64_t stop = std::min(end, limit);
    if (begin < stop) body(begin, stop, decays);
    begin = stop;
    if (!decays) ++range;
  }
}

class UpdateCpu : public Update {
 public:
  explicit UpdateCpu(const UpdateSpec& spec) : spec_(spec) {
    if (spec_.decay == 0) spec_.without_decay.clear();
  }

  absl::Status SetStep(const UpdateStep& step) override {
    DTNN_RETURN_IF_ERROR(CheckStep(step));
    step_ = step;
    return absl::OkStatus();
  }

  absl::Status Run(const Tensor& parameters, const Tensor& gradients, std::span<const Tensor> slots,
                   const UpdateGates& gates) override {
    DTNN_RETURN_IF_ERROR(CheckUpdate(spec_, Device::Cpu(), parameters, gradients, slots, gates));
    if (!gates.closed.empty() && *gates.closed.data<int32_t>() != 0) return absl::OkStatus();
    const double factor = gates.factor.empty() ? 1 : *gates.factor.data<double>();
    const UpdatePass pass = {
        .spec = &spec_,
        .parameters = parameters.raw_data(),
        .first_slot = spec_.moments() > 0 ? slots[0].raw_data() : nullptr,
        .second_slot = spec_.moments() > 1 ? slots[1].raw_data() : nullptr,
        .average = spec_.averages() ? slots.back().raw_data() : nullptr,
        .gradients = gradients.raw_data(),
        .rate = step_.learning_rate,
        .gradient_scale = step_.gradient_scale * factor,
        .correction1 = 1 / (1 - std::pow(spec_.beta1, double(step_.step))),
        .correction2 = 1 / (1 - std::pow(spec_.beta2, double(step_.step))),
        .average_rest = 1 - AverageDecay(spec_.average_decay, double(step_.step)),
    };
    ParallelFor(0, parameters.num_elements(), kCopyGrain, [&](int64_t begin, int64_t end) {
      ForEachPiece(spec_.without_decay, begin, end, [&](int64_t from, int64_t to, bool decays) {
        HWY_DYNAMIC_DISPATCH(UpdateRange)(pass, decays, from, to);
      });
    });
    return absl::OkStatus();
  }

 private:
  UpdateSpec spec_;
  UpdateStep step_;
};

absl::Status CheckConstants(const UpdateSpec& spec) {
  for (const auto& [name, value] :
       {std::pair("momentum", spec.momentum), std::pair("rho", spec.rho),
        std::pair("beta1", spec.beta1), std::pair("beta2", spec.beta2),
        std::pair("average_decay", spec.average_decay)}) {
    if (!(value >= 0 && value < 1)) {
      return InvalidArgument("update: ", name, " is ", value, ", expected 0 <= ", name, " < 1");
    }
  }
  for (const auto& [name, value] :
       {std::pair("epsilon", spec.epsilon), std::pair("decay", spec.decay)}) {
    if (!(value >= 0 && std::isfinite(value))) {
      return InvalidArgument("update: ", name, " is ", value, ", expected a number of at least 0");
    }
  }
  if (spec.rule != UpdateRule::kSgd && spec.epsilon == 0) {
    return absl::InvalidArgumentError(
        "update: epsilon is 0, expected a number above 0: a parameter whose gradients have all "
        "been "
        "0 would be divided by it");
  }
  int64_t end = 0;
  for (const ArenaRange& range : spec.without_decay) {
    if (range.begin < end || range.end < range.begin) {
      return InvalidArgument("update: range ", range.begin, " to ", range.end,
                             " without decay does not begin after the one before, which ends at ",
                             end);
    }
    end = range.end;
  }
  return absl::OkStatus();
}

}  // namespace

int UpdateSpec::moments() const {
  switch (rule) {
    case UpdateRule::kSgd:
      return momentum != 0 ? 1 : 0;
    case UpdateRule::kRmsprop:
      return 1;
    case UpdateRule::kAdam:
    case UpdateRule::kNadam:
    case UpdateRule::kAdamw:
      return 2;
  }
  return 0;
}

absl::StatusOr<std::unique_ptr<Update>> CreateUpdate(DeviceContext& context,
                                                     const UpdateSpec& spec) {
  DTNN_RETURN_IF_ERROR(CheckFloating("update", spec.dtype));
  DTNN_RETURN_IF_ERROR(CheckConstants(spec));
  if (context.device().is_cpu()) return std::make_unique<UpdateCpu>(spec);
  return CreateUpdateGpu(context, spec);
}

}  // namespace dtnn
#endif  // HWY_ONCE
