// RMSProp (Tieleman & Hinton, lecture 6.5 of "Neural networks for machine learning", 2012), with
// epsilon inside the root and decoupled decay.

#ifndef DTNN_OPTIM_OPTIMIZERS_RMSPROP_H_
#define DTNN_OPTIM_OPTIMIZERS_RMSPROP_H_

#include "optim/optimizers/optimizer.h"

namespace dtnn {

struct RmspropOptions {
  double rho = 0.9;           // [0, 1)
  double epsilon = 1e-7;      // > 0
  double decay = 0;           // weight decay, >= 0
  bool decay_vectors = true;  // false spares biases, beta and gamma
  double average_decay = 0;   // [0, 1); 0: no average of the parameters is kept
};

class Rmsprop : public RuleOptimizer {
 public:
  explicit Rmsprop(const RmspropOptions& options = {})
      : RuleOptimizer({.rule = UpdateRule::kRmsprop,
                       .rho = options.rho,
                       .epsilon = options.epsilon,
                       .decay = options.decay,
                       .average_decay = options.average_decay},
                      options.decay_vectors) {}
  std::string_view name() const override { return "rmsprop"; }
};

}  // namespace dtnn

#endif  // DTNN_OPTIM_OPTIMIZERS_RMSPROP_H_
