// Adam with Nesterov's momentum (after Dozat, ICLR workshop 2016): the fresh gradient counts once
// more in the first moment. Epsilon is inside the root, decay decoupled.

#ifndef DTNN_OPTIM_OPTIMIZERS_NADAM_H_
#define DTNN_OPTIM_OPTIMIZERS_NADAM_H_

#include "optim/optimizers/optimizer.h"

namespace dtnn {

struct NadamOptions {
  double beta1 = 0.99, beta2 = 0.999;  // [0, 1)
  double epsilon = 1e-7;               // > 0
  double decay = 0;                    // weight decay, >= 0
  bool decay_vectors = true;           // false spares biases, beta and gamma
};

class Nadam : public RuleOptimizer {
 public:
  explicit Nadam(const NadamOptions& options = {})
      : RuleOptimizer({.rule = UpdateRule::kNadam,
                       .beta1 = options.beta1,
                       .beta2 = options.beta2,
                       .epsilon = options.epsilon,
                       .decay = options.decay},
                      options.decay_vectors) {}
  std::string_view name() const override { return "nadam"; }
};

}  // namespace dtnn

#endif  // DTNN_OPTIM_OPTIMIZERS_NADAM_H_
