#include "kernels/update/update_cpu.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "kernels/elementwise/operands.h"
#include "tensor/parallel_for.h"
#include "tensor/status_macros.h"

// Everything up to HWY_ONCE is compiled once per instruction set.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/update/update_cpu.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/elementwise/transform-inl.h"

#ifndef DTNN_KERNELS_UPDATE_UPDATE_CPU_CC_
#define DTNN_KERNELS_UPDATE_UPDATE_CPU_CC_
namespace dtnn {

struct UpdatePass {
  const UpdateSpec* spec;
  void *parameters, *first_slot, *second_slot;  // slots: null where the rule has none
  const void* gradients;
  double rate;
  // Adam: 1 / (1 - beta^step).
  double correction1, correction2;
};

}  // namespace dtnn
#endif  // DTNN_KERNELS_UPDATE_UPDATE_CPU_CC_

HWY_BEFORE_NAMESPACE();
namespace dtnn {
namespace HWY_NAMESPACE {
namespace {

// w - rate * (decay * w + step)
template <class D, class V>
HWY_INLINE V Stepped(D d, const UpdatePass& pass, V w, V step) {
  using T = hn::TFromD<D>;
  const V direction = hn::MulAdd(hn::Set(d, T(pass.spec->decay)), w, step);
  return hn::NegMulAdd(hn::Set(d, T(pass.rate)), direction, w);
}

template <typename T, bool kMomentum, bool kNesterov>
struct Sgd {
  template <class D, template <class> class Access>
  HWY_INLINE void operator()(const UpdatePass& pass, const Access<D>& access, int64_t i) const {
    const D d = access.d;
    T* w_at = static_cast<T*>(pass.parameters) + i;
    const auto w = access.Load(w_at);
    const auto g = access.Load(static_cast<const T*>(pass.gradients) + i);
    auto step = g;
    if constexpr (kMomentum) {
      T* v_at = static_cast<T*>(pass.first_slot) + i;
      const auto momentum = hn::Set(d, T(pass.spec->momentum));
      const auto v = hn::MulAdd(momentum, access.Load(v_at), g);
      access.Store(v, v_at);
      step = kNesterov ? hn::MulAdd(momentum, v, g) : v;
    }
    access.Store(Stepped(d, pass, w, step), w_at);
  }
};

template <typename T>
struct Adam {
  template <class D, template <class> class Access>
  HWY_INLINE void operator()(const UpdatePass& pass, const Access<D>& access, int64_t i) const {
    const D d = access.d;
    const UpdateSpec& spec = *pass.spec;
    T* w_at = static_cast<T*>(pass.parameters) + i;
    T* m_at = static_cast<T*>(pass.first_slot) + i;
    T* v_at = static_cast<T*>(pass.second_slot) + i;
    const auto w = access.Load(w_at);
    const auto g = access.Load(static_cast<const T*>(pass.gradients) + i);
    const auto m = hn::MulAdd(hn::Set(d, T(spec.beta1)), access.Load(m_at),
                              hn::Mul(hn::Set(d, T(1 - spec.beta1)), g));
    const auto v = hn::MulAdd(hn::Set(d, T(spec.beta2)), access.Load(v_at),
                              hn::Mul(hn::Set(d, T(1 - spec.beta2)), hn::Mul(g, g)));
    access.Store(m, m_at);
    access.Store(v, v_at);
    const auto root =
        hn::Sqrt(hn::MulAdd(v, hn::Set(d, T(pass.correction2)), hn::Set(d, T(spec.epsilon))));
    const auto step = hn::Div(hn::Mul(m, hn::Set(d, T(pass.correction1))), root);
    access.Store(Stepped(d, pass, w, step), w_at);
  }
};

template <typename T, class Rule>
void UpdateWith(const UpdatePass& pass, int64_t begin, int64_t end) {
  ForEachVector<T>(end - begin, [&](const auto& access, int64_t i)
                                    HWY_ATTR { Rule()(pass, access, begin + i); });
}

template <typename T>
void UpdateTyped(const UpdatePass& pass, int64_t begin, int64_t end) {
  if (pass.spec->rule == UpdateRule::kAdam) return UpdateWith<T, Adam<T>>(pass, begin, end);
  // Without momentum, Nesterov's rule is the plain one.
  if (pass.spec->slots() == 0) return UpdateWith<T, Sgd<T, false, false>>(pass, begin, end);
  if (pass.spec->nesterov) return UpdateWith<T, Sgd<T, true, true>>(pass, begin, end);
  UpdateWith<T, Sgd<T, true, false>>(pass, begin, end);
}

void UpdateRange(const UpdatePass& pass, int64_t begin, int64_t end) {
  pass.spec->dtype == DType::kFloat32 ? UpdateTyped<float>(pass, begin, end)
                                      : UpdateTyped<double>(pass, begin, end);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace dtnn
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dtnn {
namespace {

HWY_EXPORT(UpdateRange);

class UpdateCpu : public Update {
 public:
  explicit UpdateCpu(const UpdateSpec& spec) : spec_(spec) {}

  absl::Status Run(const Tensor& parameters, const Tensor& gradients, std::span<const Tensor> slots,
                   double learning_rate, int64_t step) override {
    DTNN_RETURN_IF_ERROR(CheckOperands("update", spec_.dtype, {&parameters, &gradients}));
    for (const Tensor& slot : slots) {
      DTNN_RETURN_IF_ERROR(CheckOperands("update", spec_.dtype, {&parameters, &slot}));
    }
    if (int(slots.size()) != spec_.slots() || step < 1 || !parameters.dense()) {
      return absl::InvalidArgumentError(absl::StrCat("update: ", slots.size(), " slots at step ",
                                                     step, ", expected ", spec_.slots(),
                                                     " slots, dense arrays and steps from 1"));
    }
    const UpdatePass pass = {
        .spec = &spec_,
        .parameters = parameters.raw_data(),
        .first_slot = slots.size() > 0 ? slots[0].raw_data() : nullptr,
        .second_slot = slots.size() > 1 ? slots[1].raw_data() : nullptr,
        .gradients = gradients.raw_data(),
        .rate = learning_rate,
        .correction1 = 1 / (1 - std::pow(spec_.beta1, double(step))),
        .correction2 = 1 / (1 - std::pow(spec_.beta2, double(step))),
    };
    ParallelFor(0, parameters.num_elements(), kCopyGrain, [&](int64_t begin, int64_t end) {
      HWY_DYNAMIC_DISPATCH(UpdateRange)(pass, begin, end);
    });
    return absl::OkStatus();
  }

 private:
  const UpdateSpec spec_;
};

}  // namespace

std::unique_ptr<Update> CreateUpdateCpu(const UpdateSpec& spec) {
  return std::make_unique<UpdateCpu>(spec);
}

}  // namespace dtnn
#endif  // HWY_ONCE
