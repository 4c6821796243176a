// The rule that updates the parameters (optim/optimizers), with its constants. A constant that has
// its value of here is the optimizer's own: adamw decays by 0.01 unless `decay` says otherwise.

#ifndef DTNN_MODELS_RUN_OPTIONS_OPTIMIZER_OPTIONS_H_
#define DTNN_MODELS_RUN_OPTIONS_OPTIMIZER_OPTIONS_H_

#include <cstdint>
#include <string>

namespace dtnn {

struct OptimizerOptions {
  std::string name = "sgd";
  double learning_rate = 0.01;
  std::string learning_rate_scaling = "False";  // by the number of ranks; see InitialLearningRate
  double momentum = 0.9;
  double decay = 0;
  bool decay_all = true;  // biases and batch normalisations too
  bool nesterov = false;
  double beta1 = 0.99;
  double beta2 = 0.999;
  double epsilon = 1e-7;
  double rho = 0.9;
  int64_t tau = 64;        // steps of oktopk from one set of regions to the next
  int64_t tau_prime = 32;  // and from one exact threshold to the next
  double density = 0.01;   // share of the gradients that it sends

  friend bool operator==(const OptimizerOptions&, const OptimizerOptions&) = default;
};

}  // namespace dtnn

#endif  // DTNN_MODELS_RUN_OPTIONS_OPTIMIZER_OPTIONS_H_
