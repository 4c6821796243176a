// RunOptions to what training minimises, how, and what is measured.

#ifndef DTNN_MODELS_RUN_PARTS_MAKE_TRAINING_H_
#define DTNN_MODELS_RUN_PARTS_MAKE_TRAINING_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "data/dataset.h"
#include "models/run/options/run_options.h"
#include "models/training/step/metric_averages.h"
#include "optim/losses/loss.h"
#include "optim/metrics/metric.h"
#include "optim/optimizers/optimizer.h"
#include "optim/optimizers/optimizers.h"

namespace dtnn {

absl::StatusOr<std::shared_ptr<const Optimizer>> MakeOptimizer(const RunOptions& options);
// The options of an optimizer that has these constants.
void SetConstants(const OptimizerConstants& constants, OptimizerOptions& options);
// Sets metrics that are not set, to those that suit the data set's targets and the loss.
void FollowTargets(const Dataset& dataset, RunOptions& options);
// The loss and the metrics, unless they are given.
absl::StatusOr<MetricSet> MakeMetricSet(const RunOptions& options,
                                        std::shared_ptr<const Loss> loss = nullptr,
                                        std::vector<std::shared_ptr<const Metric>> metrics = {});
// A usage error where the loss or a metric is not defined for what the data set's targets are.
absl::Status CheckMetrics(const MetricSet& metric_set, const Dataset& dataset);

}  // namespace dtnn

#endif  // DTNN_MODELS_RUN_PARTS_MAKE_TRAINING_H_
