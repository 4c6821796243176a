// Adam with Nesterov's momentum (after Dozat, ICLR workshop 2016): the fresh gradient counts once
// more in the first moment. Epsilon is inside the root, decay decoupled.

#ifndef DTNN_OPTIM_OPTIMIZERS_NADAM_H_
#define DTNN_OPTIM_OPTIMIZERS_NADAM_H_

#include "optim/optimizers/adam.h"

namespace dtnn {

using NadamOptions = AdamOptions;

class Nadam : public RuleOptimizer {
 public:
  explicit Nadam(const NadamOptions& options = {})
      : RuleOptimizer(AdamSpec(UpdateRule::kNadam, options), options.decay_vectors) {}
  std::string_view name() const override { return "nadam"; }
};

}  // namespace dtnn

#endif  // DTNN_OPTIM_OPTIMIZERS_NADAM_H_
