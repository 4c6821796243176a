#include "optim/adam.h"

namespace dtnn {

Adam::Adam(const AdamOptions& options) {
  spec_.rule = UpdateRule::kAdam;
  spec_.beta1 = options.beta1;
  spec_.beta2 = options.beta2;
  spec_.epsilon = options.epsilon;
  spec_.decay = options.decay;
}

absl::StatusOr<std::unique_ptr<Update>> Adam::Bind(DeviceContext& context, DType dtype) const {
  UpdateSpec spec = spec_;
  spec.dtype = dtype;
  return CreateUpdate(context, spec);
}

}  // namespace dtnn
