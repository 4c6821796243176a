// The CUDA implementation of Update: one thread per parameter.

#ifndef DTNN_KERNELS_UPDATE_UPDATE_CUDA_H_
#define DTNN_KERNELS_UPDATE_UPDATE_CUDA_H_

#include <cmath>
#include <memory>

#include "absl/strings/str_cat.h"
#include "kernels/cuda_launch.h"
#include "kernels/elementwise/operands.h"
#include "kernels/update/update.h"
#include "tensor/status_macros.h"

namespace dtnn {

absl::StatusOr<std::unique_ptr<Update>> CreateUpdateCuda(DeviceContext& context,
                                                         const UpdateSpec& spec);

template <typename T>
struct SgdBody {
  T rate, momentum, decay;
  bool nesterov;
  T* w;
  const T* g;
  T* v;  // null without momentum

  DTNN_HOST_DEVICE void operator()(int64_t i) const {
    T step = g[i];
    if (v != nullptr) {
      v[i] = momentum * v[i] + g[i];
      step = nesterov ? momentum * v[i] + g[i] : v[i];
    }
    w[i] -= rate * (decay * w[i] + step);
  }
};

template <typename T>
struct AdamBody {
  T rate, decay, epsilon;
  T beta1, rest1, beta2, rest2;  // rest: 1 - beta
  T correction1, correction2;    // 1 / (1 - beta^step)
  T* w;
  const T* g;
  T *m, *v;

  DTNN_HOST_DEVICE void operator()(int64_t i) const {
    m[i] = beta1 * m[i] + rest1 * g[i];
    v[i] = beta2 * v[i] + rest2 * (g[i] * g[i]);
    const T step = m[i] * correction1 / std::sqrt(v[i] * correction2 + epsilon);
    w[i] -= rate * (decay * w[i] + step);
  }
};

template <class Runner>
class UpdateCuda : public Update {
 public:
  UpdateCuda(const Runner& runner, const UpdateSpec& spec) : runner_(runner), spec_(spec) {}

  absl::Status Run(const Tensor& parameters, const Tensor& gradients, std::span<const Tensor> slots,
                   double learning_rate, int64_t step) override {
    DTNN_RETURN_IF_ERROR(Check(parameters, gradients, slots, step));
    const int64_t n = parameters.num_elements();
    return DispatchFloating(spec_.dtype, [&]<typename T>(T) {
      T* w = parameters.data<T>();
      const T* g = gradients.data<T>();
      if (spec_.rule == UpdateRule::kSgd) {
        T* v = slots.empty() ? nullptr : slots[0].data<T>();
        return runner_.ForEach("update", n,
                               SgdBody<T>{T(learning_rate), T(spec_.momentum), T(spec_.decay),
                                          spec_.nesterov, w, g, v});
      }
      const double rest1 = 1 - spec_.beta1, rest2 = 1 - spec_.beta2;
      const double correction1 = 1 / (1 - std::pow(spec_.beta1, double(step)));
      const double correction2 = 1 / (1 - std::pow(spec_.beta2, double(step)));
      return runner_.ForEach(
          "update", n,
          AdamBody<T>{T(learning_rate), T(spec_.decay), T(spec_.epsilon), T(spec_.beta1), T(rest1),
                      T(spec_.beta2), T(rest2), T(correction1), T(correction2), w, g,
                      slots[0].data<T>(), slots[1].data<T>()});
    });
  }

 private:
  absl::Status Check(const Tensor& parameters, const Tensor& gradients,
                     std::span<const Tensor> slots, int64_t step) const {
    DTNN_RETURN_IF_ERROR(CheckOne(parameters, parameters));
    DTNN_RETURN_IF_ERROR(CheckOne(parameters, gradients));
    for (const Tensor& slot : slots) DTNN_RETURN_IF_ERROR(CheckOne(parameters, slot));
    if (int(slots.size()) == spec_.slots() && step >= 1) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("update: ", slots.size(), " slots at step ",
                                                   step, ", expected ", spec_.slots(),
                                                   " slots and steps from 1"));
  }
  absl::Status CheckOne(const Tensor& parameters, const Tensor& tensor) const {
    DTNN_RETURN_IF_ERROR(CheckOperands("update", spec_.dtype, {&parameters, &tensor}));
    if (!tensor.dense()) return absl::InvalidArgumentError("update: an array has a pitch");
    return runner_.CheckOnDevice("update", {&tensor});
  }

  Runner runner_;
  UpdateSpec spec_;
};

}  // namespace dtnn

#endif  // DTNN_KERNELS_UPDATE_UPDATE_CUDA_H_
