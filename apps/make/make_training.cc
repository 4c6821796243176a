#include "apps/make/make_training.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "comm/job/exit_code.h"
#include "optim/losses/binary_cross_entropy.h"
#include "optim/losses/categorical_cross_entropy.h"
#include "optim/losses/mae.h"
#include "optim/losses/mse.h"
#include "optim/metrics/metrics.h"
#include "optim/optimizers/adam.h"
#include "optim/optimizers/adamw.h"
#include "optim/optimizers/nadam.h"
#include "optim/optimizers/rmsprop.h"
#include "optim/optimizers/sgd.h"
#include "tensor/status_macros.h"

namespace dtnn {
namespace {

// The constants that adam, nadam and adamw share.
template <typename AdamLike, typename AdamLikeOptions>
std::shared_ptr<const Optimizer> MakeAdam(const Options& o) {
  return std::make_shared<AdamLike>(AdamLikeOptions{.beta1 = o.optimizer_beta1,
                                                    .beta2 = o.optimizer_beta2,
                                                    .epsilon = o.optimizer_epsilon,
                                                    .decay = o.optimizer_decay,
                                                    .decay_vectors = o.optimizer_decay_all});
}

std::shared_ptr<const Loss> MakeLoss(const Options& options) {
  if (options.loss_func == "categorical_cross_entropy") {
    return std::make_shared<CategoricalCrossEntropy>(
        CategoricalCrossEntropyOptions{.label_smoothing = options.label_smoothing});
  }
  if (options.loss_func == "binary_cross_entropy") return std::make_shared<BinaryCrossEntropy>();
  if (options.loss_func == "mse") return std::make_shared<MeanSquaredError>();
  if (options.loss_func == "mae") return std::make_shared<MeanAbsoluteError>();
  return nullptr;
}

}  // namespace

absl::StatusOr<std::shared_ptr<const Optimizer>> MakeOptimizer(const Options& o) {
  if (o.optimizer == "sgd") {
    return std::make_shared<Sgd>(SgdOptions{.momentum = o.optimizer_momentum,
                                            .nesterov = o.optimizer_nesterov,
                                            .decay = o.optimizer_decay,
                                            .decay_vectors = o.optimizer_decay_all});
  }
  if (o.optimizer == "rmsprop") {
    return std::make_shared<Rmsprop>(RmspropOptions{.rho = o.optimizer_rho,
                                                    .epsilon = o.optimizer_epsilon,
                                                    .decay = o.optimizer_decay,
                                                    .decay_vectors = o.optimizer_decay_all});
  }
  if (o.optimizer == "adam") return MakeAdam<Adam, AdamOptions>(o);
  if (o.optimizer == "nadam") return MakeAdam<Nadam, NadamOptions>(o);
  if (o.optimizer == "adamw") return MakeAdam<Adamw, AdamwOptions>(o);
  return UsageError(absl::StrCat("--optimizer: there is no optimizer ", o.optimizer));
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
  metric_set.loss = MakeLoss(options);
  if (metric_set.loss == nullptr) {
    return UsageError(absl::StrCat("--loss-func: there is no loss ", options.loss_func));
  }
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
