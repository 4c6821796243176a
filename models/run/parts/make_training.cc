#include "models/run/parts/make_training.h"

#include <string>
#include <utility>

#include "comm/ranks/job/exit_code.h"
#include "models/run/options/in_force.h"
#include "optim/losses/losses.h"
#include "optim/metrics/metrics.h"
#include "tensor/status_macros.h"

namespace dtnn {

absl::StatusOr<std::shared_ptr<const Optimizer>> MakeOptimizer(const RunOptions& o) {
  return OfFlag(MakeOptimizer(o.optimizer.name, {.momentum = o.optimizer.momentum,
                                                 .beta1 = o.optimizer.beta1,
                                                 .beta2 = o.optimizer.beta2,
                                                 .rho = o.optimizer.rho,
                                                 .epsilon = o.optimizer.epsilon,
                                                 .decay = o.optimizer.decay,
                                                 .average_decay = o.optimizer.average_decay,
                                                 .density = o.optimizer.density,
                                                 .tau = o.optimizer.tau,
                                                 .tau_prime = o.optimizer.tau_prime,
                                                 .nesterov = o.optimizer.nesterov,
                                                 .decay_vectors = o.optimizer.decay_all}),
                "RunOptions::optimizer.name");
}

void SetConstants(const OptimizerConstants& constants, OptimizerOptions& o) {
  o.momentum = constants.momentum;
  o.decay = constants.decay;
  o.decay_all = constants.decay_vectors;
  o.nesterov = constants.nesterov;
  o.beta1 = constants.beta1;
  o.beta2 = constants.beta2;
  o.epsilon = constants.epsilon;
  o.rho = constants.rho;
  o.tau = constants.tau;
  o.tau_prime = constants.tau_prime;
  o.density = constants.density;
  o.average_decay = constants.average_decay;
}

void FollowTargets(const Dataset& dataset, RunOptions& options) {
  if (options.training.metrics || dataset.target_kind() == TargetKind::kClass) return;
  if (dataset.target_kind() == TargetKind::kPixels) {
    options.training.metrics = {"categorical_accuracy", "mean_iou"};
    return;
  }
  const std::string loss = LossOf(options);
  if (loss == "binary_cross_entropy") {
    options.training.metrics = {"binary_accuracy", "f1_score"};
  } else {
    // The loss is one of the two.
    options.training.metrics = {loss == "mae" ? "regression_mse" : "regression_mae"};
  }
}

absl::StatusOr<MetricSet> MakeMetricSet(const RunOptions& options, std::shared_ptr<const Loss> loss,
                                        std::vector<std::shared_ptr<const Metric>> metrics) {
  MetricSet metric_set = {.loss = std::move(loss), .metrics = std::move(metrics)};
  if (metric_set.loss == nullptr) {
    DTNN_ASSIGN_OR_RETURN(
        metric_set.loss,
        OfFlag(MakeLoss(LossOf(options), {.label_smoothing = options.training.label_smoothing}),
               "RunOptions::training.loss"));
  }
  if (!metric_set.metrics.empty()) return metric_set;
  for (const std::string& name : MetricsOf(options)) {
    DTNN_ASSIGN_OR_RETURN(std::shared_ptr<const Metric> metric,
                          OfFlag(MakeMetric(name), "RunOptions::training.metrics"));
    metric_set.metrics.push_back(std::move(metric));
  }
  return metric_set;
}

absl::Status CheckMetrics(const MetricSet& metric_set, const Dataset& dataset) {
  const bool classes = dataset.target_kind() != TargetKind::kValues;
  const bool pixels = dataset.target_kind() == TargetKind::kPixels;
  const auto refuse = [&](std::string_view member, std::string_view name, const char* advice) {
    const std::string_view kind = pixels    ? "classes of pixels"
                                  : classes ? "classes, one per sample"
                                            : "values, several labels or quantities per sample";
    return UsageError("RunOptions::training.", member, ": ", name, " does not fit data set ",
                      dataset.name(), ", whose targets are ", kind, advice);
  };
  const auto fits = [&](const auto& measure) {
    return classes ? measure.TakesClasses() : measure.TakesValues();
  };
  if (pixels && !metric_set.loss->TakesPixels()) {
    return refuse("loss", metric_set.loss->name(), "; categorical_cross_entropy is for these");
  }
  if (!fits(*metric_set.loss)) {
    return refuse("loss", metric_set.loss->name(),
                  classes ? "; binary_cross_entropy is for labels that are 0 or 1, mse and mae are "
                            "for quantities"
                          : "; binary_cross_entropy is for labels that are 0 or 1, mse and mae are "
                            "for quantities, and class labels must be integers");
  }
  for (const auto& metric : metric_set.metrics) {
    if (!fits(*metric)) return refuse("metrics", metric->name(), "");
  }
  return absl::OkStatus();
}

}  // namespace dtnn
