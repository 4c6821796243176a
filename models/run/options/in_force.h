// The values of members that are not set, each said here once. They follow other members; what a
// model file or the data say is set before (FollowModel, FollowTargets).

#ifndef DTNN_MODELS_RUN_OPTIONS_IN_FORCE_H_
#define DTNN_MODELS_RUN_OPTIONS_IN_FORCE_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/plan/fusions.h"
#include "models/run/options/run_options.h"
#include "optim/losses/better.h"

namespace dtnn {

// training.loss and training.metrics.
std::string LossOf(const RunOptions& options);
std::vector<std::string> MetricsOf(const RunOptions& options);

// schedule.schedulers, and whether one of them is among them.
std::vector<std::string> SchedulersOf(const RunOptions& options);
bool Schedules(const RunOptions& options, std::string_view scheduler);
// Where model_checkpoint writes: in the working directory where schedule.schedulers names it and no
// folder is given. Empty: nowhere.
std::string ModelFolderOf(const RunOptions& options);

// The schedulers that watch a metric, and the member that says which.
struct Watcher {
  std::string_view scheduler;
  std::string& (*metric)(SchedulerOptions& options);
};
std::span<const Watcher> Watchers();
// The metric that one of them watches: the loss, or the accuracy, of the validation samples where
// there are any.
std::string WatchedBy(std::string_view scheduler, const RunOptions& options);
// Whether larger or smaller values of a metric or a loss, perhaps after "val_", are better.
Better BetterWatched(std::string_view watched);
// schedule.early_stopping.minimize.
bool MinimizesOf(const RunOptions& options);

Fusions MakeFusions(const RunOptions& options);

// encryption.global_scale: threshold keys need a larger one.
int64_t GlobalScaleOf(const RunOptions& options);

// All members as they are in force, for those who print or compare them. Constants that the
// optimizer does not have are those of another. Not set stay numbers whose absence means something:
// training.global_batch, and training.batch beside it, schedule.warm_up.batches.
RunOptions InForce(RunOptions options);

}  // namespace dtnn

#endif  // DTNN_MODELS_RUN_OPTIONS_IN_FORCE_H_
