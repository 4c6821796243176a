// Stochastic gradient descent with momentum, after a sparse sum of the ranks' gradients (Li and
// Hoefler, PPoPP 2022; comm/ranks/gradients/top_k_all_reduce.h): of the gradients, and of what
// earlier steps left over, only the largest are applied; the rest is the last slot, which is each
// rank's own.
//
// What is left over is in units of gradients, not of parameters: the learning rate is that of the
// step that applies it, and momentum is that of what is applied.

#ifndef DTNN_OPTIM_OPTIMIZERS_OKTOPK_H_
#define DTNN_OPTIM_OPTIMIZERS_OKTOPK_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "optim/optimizers/optimizer.h"

namespace dtnn {

struct OktopkOptions {
  double momentum = 0.9;  // [0, 1); 0 keeps no state of it
  bool nesterov = false;
  double decay = 0;           // weight decay, >= 0
  bool decay_vectors = true;  // false spares biases, beta and gamma
  double average_decay = 0;   // [0, 1); 0: no average of the parameters is kept
  double density = 0.01;      // (0, 1]
  int64_t tau = 64, tau_prime = 32;
};

class Oktopk : public RuleOptimizer {
 public:
  explicit Oktopk(const OktopkOptions& options = {})
      : RuleOptimizer({.momentum = options.momentum,
                       .nesterov = options.nesterov,
                       .decay = options.decay,
                       .average_decay = options.average_decay},
                      options.decay_vectors),
        sparse_({.density = options.density, .tau = options.tau, .tau_prime = options.tau_prime}) {}

  std::string_view name() const override { return "oktopk"; }
  int slots() const override { return RuleOptimizer::slots() + 1; }
  std::map<std::string, double, std::less<>> constants() const override;
  std::optional<SparseSum> sparse_sum() const override { return sparse_; }
  absl::StatusOr<std::unique_ptr<Update>> Bind(DeviceContext& context, DType dtype,
                                               std::span<const ArenaRange> vectors) const override;

 private:
  SparseSum sparse_;
};

}  // namespace dtnn

#endif  // DTNN_OPTIM_OPTIMIZERS_OKTOPK_H_
