#include "optim/optimizer.h"

namespace dtnn {

absl::StatusOr<std::unique_ptr<Update>> RuleOptimizer::Bind(
    DeviceContext& context, DType dtype, std::span<const ArenaRange> vectors) const {
  UpdateSpec spec = spec_;
  spec.dtype = dtype;
  if (!decay_vectors_) spec.without_decay.assign(vectors.begin(), vectors.end());
  return CreateUpdate(context, spec);
}

}  // namespace dtnn
