// Any optimizer with a term that keeps parameters near those that training began with: FedProx (Li
// et al., "Federated optimization in heterogeneous networks", 2020). It adds mu / 2 ||w - w0||^2 to
// the loss, hence mu (w - w0) to the gradient.
//
// w0 is the last slot: the code that begins a round copies the parameters there. With mu = 0
// nothing is added, and the bits are those of the optimizer itself. On CPUs, in float32. A clipped
// gradient is clipped before the term is added.
//
// Instead, the last slot may be added to gradients as it is: the difference of the control variates
// of SCAFFOLD (Karimireddy et al., "SCAFFOLD: stochastic controlled averaging for federated
// learning", 2020).

#ifndef DTNN_OPTIM_OPTIMIZERS_PROXIMAL_H_
#define DTNN_OPTIM_OPTIMIZERS_PROXIMAL_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "optim/optimizers/optimizer.h"

namespace dtnn {

class ProximalOptimizer : public Optimizer {
 public:
  explicit ProximalOptimizer(std::shared_ptr<const Optimizer> inner) : inner_(std::move(inner)) {}

  std::string_view name() const override { return inner_->name(); }
  int slots() const override { return inner_->slots() + 1; }
  std::optional<int> average_slot() const override { return inner_->average_slot(); }
  std::map<std::string, double, std::less<>> constants() const override {
    return inner_->constants();
  }
  bool changes_gradients() const override { return true; }
  // What it binds must not outlive this.
  absl::StatusOr<std::unique_ptr<Update>> Bind(DeviceContext& context, DType dtype,
                                               std::span<const ArenaRange> vectors) const override;

  // Applies to all updates from now on.
  void set_mu(double mu) { terms_.mu = mu; }
  // Whether the last slot is added, in place of the term of mu.
  void set_adds_slot(bool adds) { terms_.adds_slot = adds; }
  // From now on counts the learning rates of steps, each once.
  void CountRates() { terms_.step = 0, terms_.rates = 0; }
  double rates() const { return terms_.rates; }

  // What the updates that it binds follow.
  struct Terms {
    double mu = 0;
    bool adds_slot = false;
    int64_t step = 0;  // the last one that was counted
    double rates = 0;  // sum
  };

 private:
  const std::shared_ptr<const Optimizer> inner_;
  mutable Terms terms_;  // steps of updates that Bind has made
};

}  // namespace dtnn

#endif  // DTNN_OPTIM_OPTIMIZERS_PROXIMAL_H_
