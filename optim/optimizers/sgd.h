// Stochastic gradient descent with momentum (Sutskever et al., ICML 2013), optionally Nesterov's;
// the formulas are in kernels/update/update.h.

#ifndef DTNN_OPTIM_OPTIMIZERS_SGD_H_
#define DTNN_OPTIM_OPTIMIZERS_SGD_H_

#include "optim/optimizers/optimizer.h"

namespace dtnn {

struct SgdOptions {
  double momentum = 0.9;  // [0, 1); 0 keeps no state
  bool nesterov = false;
  double decay = 0;           // weight decay, >= 0
  bool decay_vectors = true;  // false spares biases, beta and gamma
  double average_decay = 0;   // [0, 1); 0: no average of the parameters is kept
};

class Sgd : public RuleOptimizer {
 public:
  explicit Sgd(const SgdOptions& options = {})
      : RuleOptimizer({.momentum = options.momentum,
                       .nesterov = options.nesterov,
                       .decay = options.decay,
                       .average_decay = options.average_decay},
                      options.decay_vectors) {}
  std::string_view name() const override { return "sgd"; }
};

}  // namespace dtnn

#endif  // DTNN_OPTIM_OPTIMIZERS_SGD_H_
