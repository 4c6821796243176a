// How parameters follow their gradients. An Optimizer is a description (which rule, which
// constants); bound to a device it is one fused pass over the parameter arena,
// kernels/update/update.h, where the formulas stand.

#ifndef DTNN_OPTIM_OPTIMIZERS_OPTIMIZER_H_
#define DTNN_OPTIM_OPTIMIZERS_OPTIMIZER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "kernels/device/context.h"
#include "kernels/update/update.h"

namespace dtnn {

// How ranks sum the gradients of an optimizer that applies only the largest of them
// (comm/ranks/gradients/top_k_all_reduce.h).
struct SparseSum {
  double density = 0.01;
  int64_t tau = 64, tau_prime = 32;  // steps
};

class Optimizer {
 public:
  virtual ~Optimizer() = default;
  virtual std::string_view name() const = 0;  // as --optimizer spells it
  // Values that the rule keeps per parameter.
  virtual int slots() const = 0;
  // The slot that is an average of the parameters (kernels/update/update.h), which tests and files
  // take instead of them; nothing: it keeps none.
  virtual std::optional<int> average_slot() const { return std::nullopt; }
  // What its formula is made of, by name: which runs would give the same numbers. A switch is 1 or
  // 0.
  virtual std::map<std::string, double, std::less<>> constants() const = 0;
  // Nothing: gradients are summed as they are. Else the last slot is what the sum leaves over, of
  // each rank its own, and ranks take part in all updates.
  virtual std::optional<SparseSum> sparse_sum() const { return std::nullopt; }
  // Whether updates change the gradients that they are given, so that every step has to write all
  // gradients again, also those that are known to be 0.
  virtual bool changes_gradients() const { return false; }
  // `vectors`: where the parameters of rank 1 (biases, beta, gamma) lie in the arena, ascending,
  // for optimizers that spare them from weight decay.
  virtual absl::StatusOr<std::unique_ptr<Update>> Bind(
      DeviceContext& context, DType dtype, std::span<const ArenaRange> vectors) const = 0;
};

// An optimizer that is one of the rules of kernels/update.
class RuleOptimizer : public Optimizer {
 public:
  int slots() const override { return spec_.slots(); }
  std::optional<int> average_slot() const override {
    return spec_.averages() ? std::optional(spec_.moments()) : std::nullopt;
  }
  std::map<std::string, double, std::less<>> constants() const override;
  absl::StatusOr<std::unique_ptr<Update>> Bind(DeviceContext& context, DType dtype,
                                               std::span<const ArenaRange> vectors) const override;

 protected:
  // Without `decay_vectors` the decay leaves parameters of rank 1 alone.
  RuleOptimizer(const UpdateSpec& spec, bool decay_vectors)
      : spec_(spec), decay_vectors_(decay_vectors) {}

 private:
  UpdateSpec spec_;
  bool decay_vectors_;
};

}  // namespace dtnn

#endif  // DTNN_OPTIM_OPTIMIZERS_OPTIMIZER_H_
