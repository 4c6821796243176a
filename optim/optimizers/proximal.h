// Any optimizer with a term that keeps parameters near those that training began with: FedProx (Li
// et al., "Federated optimization in heterogeneous networks", 2020). It adds mu / 2 ||w - w0||^2 to
// the loss, hence mu (w - w0) to the gradient.
//
// w0 is the last slot: the code that begins a round copies the parameters there. With mu = 0
// nothing is added, and the bits are those of the optimizer itself. On CPUs, in float32. A clipped
// gradient is clipped before the term is added.

#ifndef DTNN_OPTIM_OPTIMIZERS_PROXIMAL_H_
#define DTNN_OPTIM_OPTIMIZERS_PROXIMAL_H_

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
  // What it binds must not outlive this.
  absl::StatusOr<std::unique_ptr<Update>> Bind(DeviceContext& context, DType dtype,
                                               std::span<const ArenaRange> vectors) const override;

  // Applies to all updates from now on.
  void set_mu(double mu) { mu_ = mu; }

 private:
  const std::shared_ptr<const Optimizer> inner_;
  double mu_ = 0;
};

}  // namespace dtnn

#endif  // DTNN_OPTIM_OPTIMIZERS_PROXIMAL_H_
