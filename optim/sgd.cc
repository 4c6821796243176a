#include "optim/sgd.h"

namespace dtnn {

Sgd::Sgd(const SgdOptions& options) {
  spec_.rule = UpdateRule::kSgd;
  spec_.momentum = options.momentum;
  spec_.nesterov = options.nesterov;
  spec_.decay = options.decay;
}

absl::StatusOr<std::unique_ptr<Update>> Sgd::Bind(DeviceContext& context, DType dtype) const {
  UpdateSpec spec = spec_;
  spec.dtype = dtype;
  return CreateUpdate(context, spec);
}

}  // namespace dtnn
