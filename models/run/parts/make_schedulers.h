// RunOptions to schedulers.

#ifndef DTNN_MODELS_RUN_PARTS_MAKE_SCHEDULERS_H_
#define DTNN_MODELS_RUN_PARTS_MAKE_SCHEDULERS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "models/run/options/run_options.h"
#include "models/training/step/metric_averages.h"
#include "optim/schedulers/scheduler.h"

namespace dtnn {

// Those of schedule.schedulers, in that order, or `own`, where there are any; model_checkpoint only
// where there is a folder for its files. Rates are those of a run on so many ranks. A usage error
// for a scheduler that watches a metric which the run does not compute.
absl::StatusOr<std::vector<std::shared_ptr<Scheduler>>> MakeSchedulers(
    const RunOptions& options, const MetricSet& metric_set, bool has_validation, int64_t ranks,
    std::vector<std::shared_ptr<Scheduler>> own = {});

// A line about each scheduler whose minimum is above the rate that training begins with, so that it
// does nothing.
std::vector<std::string> DescribeMinimums(const RunOptions& options, int64_t ranks);

// For a run without validation samples: has the schedulers watch the training metric where they
// would watch that of validation. False where none of them does.
bool WatchTraining(RunOptions& options);

}  // namespace dtnn

#endif  // DTNN_MODELS_RUN_PARTS_MAKE_SCHEDULERS_H_
