#include "apps/make/make_training.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "comm/job/exit_code.h"
#include "optim/losses/losses.h"
#include "optim/metrics/metrics.h"
#include "optim/optimizers/optimizers.h"
#include "tensor/status_macros.h"

namespace dtnn {

absl::StatusOr<std::shared_ptr<const Optimizer>> MakeOptimizer(const Options& o) {
  absl::StatusOr<std::shared_ptr<const Optimizer>> optimizer =
      MakeOptimizer(o.optimizer, {.momentum = o.optimizer_momentum,
                                  .beta1 = o.optimizer_beta1,
                                  .beta2 = o.optimizer_beta2,
                                  .rho = o.optimizer_rho,
                                  .epsilon = o.optimizer_epsilon,
                                  .decay = o.optimizer_decay,
                                  .nesterov = o.optimizer_nesterov,
                                  .decay_vectors = o.optimizer_decay_all});
  if (optimizer.ok()) return optimizer;
  return UsageError(absl::StrCat("--optimizer: ", std::string(optimizer.status().message())));
}

void FollowTargets(const Dataset& dataset, Options& options) {
  if (options.metrics_given || dataset.target_kind() == TargetKind::kClass) return;
  if (options.loss_func == "binary_cross_entropy") {
    options.metrics = {"binary_accuracy", "f1_score"};
  } else {
    // The loss is one of the two.
    options.metrics = {options.loss_func == "mae" ? "regression_mse" : "regression_mae"};
  }
}

absl::StatusOr<MetricSet> MakeMetricSet(const Options& options) {
  MetricSet metric_set;
  absl::StatusOr<std::shared_ptr<const Loss>> loss =
      MakeLoss(options.loss_func, {.label_smoothing = options.label_smoothing});
  if (!loss.ok()) {
    return UsageError(absl::StrCat("--loss-func: ", std::string(loss.status().message())));
  }
  metric_set.loss = *std::move(loss);
  for (const std::string& name : options.metrics) {
    absl::StatusOr<std::shared_ptr<const Metric>> metric = MakeMetric(name);
    if (!metric.ok()) {
      return UsageError(absl::StrCat("--metrics: ", std::string(metric.status().message())));
    }
    metric_set.metrics.push_back(*std::move(metric));
  }
  return metric_set;
}

absl::Status CheckFigures(const MetricSet& metric_set, const Dataset& dataset) {
  const bool classes = dataset.target_kind() == TargetKind::kClass;
  const auto refuse = [&](std::string_view flag, std::string_view name, const char* advice) {
    const std::string_view kind =
        classes ? "classes, one per sample" : "values, several labels or quantities per sample";
    return UsageError(absl::StrCat("--", std::string(flag), ": ", std::string(name),
                                   " does not fit data set ", std::string(dataset.name()),
                                   ", whose targets are ", std::string(kind), advice));
  };
  const auto fits = [&](const auto& figure) {
    return classes ? figure.TakesClasses() : figure.TakesValues();
  };
  if (!fits(*metric_set.loss)) {
    return refuse("loss-func", metric_set.loss->name(),
                  "; binary_cross_entropy is for labels that are 0 or 1, mse and mae are for "
                  "quantities");
  }
  for (const auto& metric : metric_set.metrics) {
    if (!fits(*metric)) return refuse("metrics", metric->name(), "");
  }
  return absl::OkStatus();
}

}  // namespace dtnn
