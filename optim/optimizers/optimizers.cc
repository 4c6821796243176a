#include "optim/optimizers/optimizers.h"

#include "optim/optimizers/adam.h"
#include "optim/optimizers/adamw.h"
#include "optim/optimizers/nadam.h"
#include "optim/optimizers/oktopk.h"
#include "optim/optimizers/rmsprop.h"
#include "optim/optimizers/sgd.h"
#include "tensor/errors.h"
#include "tensor/named_table.h"

namespace dtnn {
namespace {

// Sets those constants of `options` that it has and that are given.
template <class Options>
Options With(const OptimizerConstants& given) {
  Options options;
  const auto set = [](auto& field, const auto& value) { field = value.value_or(field); };
  set(options.decay, given.decay);
  set(options.decay_vectors, given.decay_vectors);
  set(options.average_decay, given.average_decay);
  if constexpr (requires { options.momentum; }) set(options.momentum, given.momentum);
  if constexpr (requires { options.nesterov; }) set(options.nesterov, given.nesterov);
  if constexpr (requires { options.rho; }) set(options.rho, given.rho);
  if constexpr (requires { options.epsilon; }) set(options.epsilon, given.epsilon);
  if constexpr (requires { options.density; }) {
    set(options.density, given.density);
    set(options.tau, given.tau);
    set(options.tau_prime, given.tau_prime);
  }
  if constexpr (requires { options.beta1; }) {
    set(options.beta1, given.beta1);
    set(options.beta2, given.beta2);
  }
  return options;
}

template <class O, class Options>
std::shared_ptr<const Optimizer> Make(const OptimizerConstants& constants) {
  return std::make_shared<O>(With<Options>(constants));
}

constexpr struct {
  std::string_view name;
  std::shared_ptr<const Optimizer> (*make)(const OptimizerConstants& constants);
} kOptimizers[] = {
    {"sgd", Make<Sgd, SgdOptions>},       {"rmsprop", Make<Rmsprop, RmspropOptions>},
    {"adam", Make<Adam, AdamOptions>},    {"nadam", Make<Nadam, NadamOptions>},
    {"adamw", Make<Adamw, AdamwOptions>}, {"oktopk", Make<Oktopk, OktopkOptions>},
};

}  // namespace

std::vector<std::string_view> OptimizerNames() { return NamesIn(kOptimizers); }

absl::StatusOr<std::shared_ptr<const Optimizer>> MakeOptimizer(
    std::string_view name, const OptimizerConstants& constants) {
  DTNN_ASSIGN_OR_RETURN(const auto* entry, FindNamed(kOptimizers, "optimizer", name));
  return entry->make(constants);
}

absl::StatusOr<OptimizerConstants> ConstantsFrom(
    const std::map<std::string, double, std::less<>>& constants) {
  constexpr double kMostSteps = 1ll << 40;
  OptimizerConstants result;
  for (const auto& constant : constants) {
    const std::string& name = constant.first;
    const double value = constant.second;
    const auto is = [&](std::string_view known, auto& field) {
      if (name == known) field = value;
      return name == known;
    };
    if (name.starts_with("tau") && !(value >= 1 && value <= kMostSteps)) {
      return InvalidArgument(name, " is ", value, ", expected 1 or more steps");
    }
    if (name == "density" && !(value > 0 && value <= 1)) {
      return InvalidArgument("density is ", value, ", expected 0 < density <= 1");
    }
    if (!is("momentum", result.momentum) && !is("nesterov", result.nesterov) &&
        !is("beta1", result.beta1) && !is("beta2", result.beta2) && !is("rho", result.rho) &&
        !is("epsilon", result.epsilon) && !is("decay", result.decay) &&
        !is("decay of vectors", result.decay_vectors) && !is("density", result.density) &&
        !is("tau", result.tau) && !is("tau'", result.tau_prime) &&
        !is("average decay", result.average_decay)) {
      return InvalidArgument(Quoted(name), " is not a constant of an optimizer");
    }
  }
  return result;
}

}  // namespace dtnn
