// AdamW (Loshchilov & Hutter, ICLR 2019): Adam with decoupled decay as its authors publish it, i.e.
// epsilon outside the root, and with their constants. (adam.h decouples its decay too.)

#ifndef DTNN_OPTIM_OPTIMIZERS_ADAMW_H_
#define DTNN_OPTIM_OPTIMIZERS_ADAMW_H_

#include "optim/optimizers/optimizer.h"

namespace dtnn {

struct AdamwOptions {
  double beta1 = 0.9, beta2 = 0.999;  // [0, 1)
  double epsilon = 1e-8;              // > 0
  double decay = 0.01;                // weight decay, >= 0
  bool decay_vectors = true;          // false spares biases, beta and gamma
  double average_decay = 0;           // [0, 1); 0: no average of the parameters is kept
};

class Adamw : public RuleOptimizer {
 public:
  explicit Adamw(const AdamwOptions& options = {})
      : RuleOptimizer({.rule = UpdateRule::kAdamw,
                       .beta1 = options.beta1,
                       .beta2 = options.beta2,
                       .epsilon = options.epsilon,
                       .decay = options.decay,
                       .average_decay = options.average_decay},
                      options.decay_vectors) {}
  std::string_view name() const override { return "adamw"; }
};

}  // namespace dtnn

#endif  // DTNN_OPTIM_OPTIMIZERS_ADAMW_H_
