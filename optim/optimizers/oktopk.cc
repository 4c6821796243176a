#include "optim/optimizers/oktopk.h"

#include <utility>

#include "kernels/device/device_traits.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

// The last slot is for the sum, which comes before.
class WithoutLastSlot : public Update {
 public:
  explicit WithoutLastSlot(std::unique_ptr<Update> inner) : inner_(std::move(inner)) {}

  absl::Status SetStep(const UpdateStep& step) override { return inner_->SetStep(step); }
  absl::Status Run(const Tensor& parameters, const Tensor& gradients, std::span<const Tensor> slots,
                   const UpdateGates& gates) override {
    return inner_->Run(parameters, gradients, slots.first(slots.size() - 1), gates);
  }

 private:
  const std::unique_ptr<Update> inner_;
};

}  // namespace

std::map<std::string, double, std::less<>> Oktopk::constants() const {
  std::map<std::string, double, std::less<>> constants = RuleOptimizer::constants();
  constants["density"] = sparse_.density;
  constants["tau"] = double(sparse_.tau);
  constants["tau'"] = double(sparse_.tau_prime);
  return constants;
}

absl::StatusOr<std::unique_ptr<Update>> Oktopk::Bind(DeviceContext& context, DType dtype,
                                                     std::span<const ArenaRange> vectors) const {
  if (!TraitsOf(context.device()).in_host_memory) {
    return Unimplemented("the sparse sum of oktopk is computed on CPUs only");
  }
  DTNN_ASSIGN_OR_RETURN(std::unique_ptr<Update> inner,
                        RuleOptimizer::Bind(context, dtype, vectors));
  return std::make_unique<WithoutLastSlot>(std::move(inner));
}

}  // namespace dtnn
