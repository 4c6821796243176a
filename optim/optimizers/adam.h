// Adam (Kingma & Ba, ICLR 2015), with epsilon inside the root and decoupled decay;
// the formula is in kernels/update/update.h. beta1 is the original system's, not the paper's 0.9.

#ifndef DTNN_OPTIM_OPTIMIZERS_ADAM_H_
#define DTNN_OPTIM_OPTIMIZERS_ADAM_H_

#include "optim/optimizers/optimizer.h"

namespace dtnn {

struct AdamOptions {
  double beta1 = 0.99, beta2 = 0.999;  // [0, 1)
  double epsilon = 1e-7;               // > 0
  double decay = 0;                    // weight decay, >= 0
  bool decay_vectors = true;           // false spares biases, beta and gamma
  double average_decay = 0;            // [0, 1); 0: no average of the parameters is kept
};

inline UpdateSpec AdamSpec(UpdateRule rule, const AdamOptions& options) {
  return {.rule = rule,
          .beta1 = options.beta1,
          .beta2 = options.beta2,
          .epsilon = options.epsilon,
          .decay = options.decay,
          .average_decay = options.average_decay};
}

class Adam : public RuleOptimizer {
 public:
  explicit Adam(const AdamOptions& options = {})
      : RuleOptimizer(AdamSpec(UpdateRule::kAdam, options), options.decay_vectors) {}
  std::string_view name() const override { return "adam"; }
};

}  // namespace dtnn

#endif  // DTNN_OPTIM_OPTIMIZERS_ADAM_H_
