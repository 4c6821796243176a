// All optimizers by the names that --optimizer knows.

#ifndef DTNN_OPTIM_OPTIMIZERS_OPTIMIZERS_H_
#define DTNN_OPTIM_OPTIMIZERS_OPTIMIZERS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "optim/optimizers/optimizer.h"

namespace dtnn {

// The constants of all of them. What is not set keeps the optimizer's own default; what an
// optimizer does not have is ignored.
struct OptimizerConstants {
  std::optional<double> momentum = {}, beta1 = {}, beta2 = {}, rho = {}, epsilon = {}, decay = {};
  std::optional<double> average_decay = {};
  std::optional<double> density = {};
  std::optional<int64_t> tau = {}, tau_prime = {};
  std::optional<bool> nesterov = {}, decay_vectors = {};
};

// In the order in which they are documented.
std::vector<std::string_view> OptimizerNames();
// NotFound, listing the names, for another one.
absl::StatusOr<std::shared_ptr<const Optimizer>> MakeOptimizer(
    std::string_view name, const OptimizerConstants& constants = {});
// Those that constants() of an optimizer gave, perhaps in a file, so that it can be made again.
// What is not among them keeps the optimizer's own default. InvalidArgument for a name that no
// optimizer has, and for values that are out of range and that binding the optimizer does not
// check.
absl::StatusOr<OptimizerConstants> ConstantsFrom(
    const std::map<std::string, double, std::less<>>& constants);

}  // namespace dtnn

#endif  // DTNN_OPTIM_OPTIMIZERS_OPTIMIZERS_H_
