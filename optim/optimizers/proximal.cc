#include "optim/optimizers/proximal.h"

#include <cstdint>

#include "kernels/device/device_traits.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

class ProximalUpdate : public Update {
 public:
  ProximalUpdate(std::unique_ptr<Update> inner, ProximalOptimizer::Terms& terms)
      : inner_(std::move(inner)), terms_(terms) {}

  absl::Status SetStep(const UpdateStep& step) override {
    gradient_scale_ = step.gradient_scale;
    if (step.step != terms_.step) {  // other parts of the parameters have the same step
      terms_.step = step.step;
      terms_.rates += step.learning_rate;
    }
    return inner_->SetStep(step);
  }

  absl::Status Run(const Tensor& parameters, const Tensor& gradients, std::span<const Tensor> slots,
                   const UpdateGates& gates) override {
    if (terms_.mu > 0 || terms_.adds_slot) {
      // The optimizer scales what it is given.
      const double clipped = gates.factor.empty() ? 1 : *gates.factor.data<double>();
      const double scale = gradient_scale_ * clipped;
      const auto factor = float((terms_.adds_slot ? 1 : terms_.mu) / scale);
      const float* const w = parameters.data<float>();
      const float* const slot = slots.back().data<float>();
      float* const gradient = gradients.data<float>();
      for (int64_t i = 0; i < parameters.num_elements(); ++i) {
        gradient[i] += factor * (terms_.adds_slot ? slot[i] : w[i] - slot[i]);
      }
    }
    return inner_->Run(parameters, gradients, slots.first(slots.size() - 1), gates);
  }

 private:
  const std::unique_ptr<Update> inner_;
  ProximalOptimizer::Terms& terms_;
  double gradient_scale_ = 1;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Update>> ProximalOptimizer::Bind(
    DeviceContext& context, DType dtype, std::span<const ArenaRange> vectors) const {
  if (!TraitsOf(context.device()).in_host_memory || dtype != DType::kFloat32) {
    return Unimplemented("a proximal term is computed on CPUs and in float32 only");
  }
  DTNN_ASSIGN_OR_RETURN(std::unique_ptr<Update> inner, inner_->Bind(context, dtype, vectors));
  return std::make_unique<ProximalUpdate>(std::move(inner), terms_);
}

}  // namespace dtnn
