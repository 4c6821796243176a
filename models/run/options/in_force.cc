#include "models/run/options/in_force.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "optim/metrics/metrics.h"
#include "optim/optimizers/optimizers.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

// clang-format 14 does not know lambdas that return references.
// clang-format off
constexpr Watcher kWatchers[] = {
    {"early_stopping", [](auto& o) -> auto& { return o.early_stopping.metric; }},
    {"reduce_lr_on_plateau", [](auto& o) -> auto& { return o.reduce_on_plateau.metric; }},
    {"model_checkpoint", [](auto& o) -> auto& { return o.keep_best.metric; }},
    {"stop_at_loss", [](auto& o) -> auto& { return o.stop_at.metric; }},
};
// clang-format on

}  // namespace

std::span<const Watcher> Watchers() { return kWatchers; }
namespace {

bool Validates(const RunOptions& options) {
  return options.data.test_as_validation || options.data.validation_split > 0;
}

// The constants of the run's optimizer, then those that only others have.
std::map<std::string, double, std::less<>> DefaultConstants(const std::string& optimizer) {
  std::vector<std::string_view> names = OptimizerNames();
  names.insert(names.begin(), optimizer);
  std::map<std::string, double, std::less<>> constants;
  for (const std::string_view name : names) {
    const auto made = MakeOptimizer(name);
    if (made.ok()) constants.merge((*made)->constants());
  }
  return constants;
}

template <class T>
void SetUnlessSet(std::optional<T>& member, T value) {
  if (!member) member = std::move(value);
}

void SetConstants(OptimizerOptions& o) {
  const auto constants = DefaultConstants(o.name);
  const auto set = [&]<class T>(std::optional<T>& member, std::string_view name) {
    SetUnlessSet(member, T(constants.find(name)->second));
  };
  set(o.momentum, "momentum");
  set(o.decay, "decay");
  set(o.decay_all, "decay of vectors");
  set(o.nesterov, "nesterov");
  set(o.beta1, "beta1");
  set(o.beta2, "beta2");
  set(o.epsilon, "epsilon");
  set(o.rho, "rho");
  set(o.tau, "tau");
  set(o.tau_prime, "tau'");
  set(o.density, "density");
  SetUnlessSet(o.average_decay, 0.0);
}

}  // namespace

std::string LossOf(const RunOptions& options) {
  return options.training.loss.empty() ? "categorical_cross_entropy" : options.training.loss;
}

std::vector<std::string> MetricsOf(const RunOptions& options) {
  return options.training.metrics.value_or({"categorical_accuracy"});
}

std::vector<std::string> SchedulersOf(const RunOptions& options) {
  if (options.schedule.schedulers) return *options.schedule.schedulers;
  std::vector<std::string> names = {"early_stopping", "reduce_lr_on_plateau"};
  if (!options.schedule.model_folder.empty()) names.push_back("model_checkpoint");
  return names;
}

bool Schedules(const RunOptions& options, std::string_view scheduler) {
  const std::vector<std::string> names = SchedulersOf(options);
  return std::ranges::find(names, scheduler) != names.end();
}

std::string ModelFolderOf(const RunOptions& options) {
  const std::string& folder = options.schedule.model_folder;
  return folder.empty() && Schedules(options, "model_checkpoint") ? "." : folder;
}

std::string WatchedBy(std::string_view scheduler, const RunOptions& options) {
  const Watcher& watcher = *std::ranges::find(Watchers(), scheduler, &Watcher::scheduler);
  SchedulerOptions schedule = options.schedule;
  if (const std::string& metric = watcher.metric(schedule); !metric.empty()) return metric;
  return StrCat(Validates(options) ? "val_" : "",
                scheduler == "stop_at_loss" ? "categorical_accuracy" : LossOf(options));
}

Better BetterWatched(std::string_view watched) {
  if (watched.starts_with("val_")) watched.remove_prefix(4);
  const auto metric = MakeMetric(watched);
  return metric.ok() ? (*metric)->better() : Better::kSmaller;  // a loss
}

bool MinimizesOf(const RunOptions& options) {
  return options.schedule.early_stopping.minimize.value_or(
      BetterWatched(WatchedBy("early_stopping", options)) == Better::kSmaller);
}

Fusions MakeFusions(const RunOptions& options) {
  const FusionOptions& fusions = options.device.fusions;
  return {.conv_bn = fusions.conv_bn.value_or(true),
          .conv_bn_relu = fusions.conv_bn_relu.value_or(true),
          .conv_relu = fusions.conv_relu.value_or(true),
          .bn_relu = fusions.bn_relu.value_or(true)};
}

int64_t GlobalScaleOf(const RunOptions& options) {
  return options.encryption.global_scale.value_or(options.encryption.kind == "openfhe" ? 61 : 40);
}

RunOptions InForce(RunOptions o) {
  if (!o.training.global_batch) o.training.batch = *BatchSizePerRank(o);
  if (o.data.train_path.empty()) o.data.path = TrainPath(o);
  o.network.dtype = ElementTypeOf(o);
  if (o.network.format.empty()) o.network.format = kAutoFormat;
  for (const Watcher& watcher : Watchers()) {
    watcher.metric(o.schedule) = WatchedBy(watcher.scheduler, o);
  }
  o.schedule.early_stopping.minimize = MinimizesOf(o);
  SetUnlessSet(o.schedule.stop_at.threshold, 0.0);
  const std::string folder = ModelFolderOf(o);
  o.schedule.schedulers = SchedulersOf(o);
  o.schedule.model_folder = folder;
  o.training.loss = LossOf(o);
  o.training.metrics = MetricsOf(o);
  for (auto* member : {&o.data.center_square, &o.data.center_crop, &o.data.resize,
                       &o.data.normalize, &o.data.standardize}) {
    SetUnlessSet(*member, false);
  }
  SetUnlessSet(o.output.tracing, false);
  SetConstants(o.optimizer);
  const Fusions fusions = MakeFusions(o);
  o.device.fusions = {.conv_bn = fusions.conv_bn,
                      .conv_bn_relu = fusions.conv_bn_relu,
                      .conv_relu = fusions.conv_relu,
                      .bn_relu = fusions.bn_relu};
  o.encryption.global_scale = GlobalScaleOf(o);
  return o;
}

}  // namespace dtnn
