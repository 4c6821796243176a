#include "optim/optimizers/optimizer.h"

namespace dtnn {

std::map<std::string, double, std::less<>> RuleOptimizer::constants() const {
  std::map<std::string, double, std::less<>> constants = {{"decay", spec_.decay}};
  if (spec_.decay > 0) constants["decay of vectors"] = decay_vectors_ ? 1 : 0;
  if (spec_.averages()) constants["average decay"] = spec_.average_decay;
  switch (spec_.rule) {
    case UpdateRule::kSgd:
      constants["momentum"] = spec_.momentum;
      constants["nesterov"] = spec_.nesterov ? 1 : 0;
      break;
    case UpdateRule::kRmsprop:
      constants["rho"] = spec_.rho;
      constants["epsilon"] = spec_.epsilon;
      break;
    case UpdateRule::kAdam:
    case UpdateRule::kNadam:
    case UpdateRule::kAdamw:
      constants["beta1"] = spec_.beta1;
      constants["beta2"] = spec_.beta2;
      constants["epsilon"] = spec_.epsilon;
      break;
  }
  return constants;
}

absl::StatusOr<std::unique_ptr<Update>> RuleOptimizer::Bind(
    DeviceContext& context, DType dtype, std::span<const ArenaRange> vectors) const {
  UpdateSpec spec = spec_;
  spec.dtype = dtype;
  if (!decay_vectors_) spec.without_decay.assign(vectors.begin(), vectors.end());
  return CreateUpdate(context, spec);
}

}  // namespace dtnn
