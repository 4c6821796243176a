#include "models/run/parts/make_schedulers.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "absl/strings/str_join.h"
#include "comm/ranks/job/exit_code.h"
#include "models/run/options/in_force.h"
#include "optim/schedulers/schedulers.h"
#include "tensor/status_macros.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

// What flags say of one. A metric that the run does not compute is refused later.
SchedulerConstants ConstantsOf(std::string_view name, const RunOptions& o,
                               const MetricSet& metric_set, int64_t ranks) {
  const auto watched = [&] { return WatchedBy(name, o); };
  const auto better = [&] { return metric_set.FindBetter(watched()).value_or(Better::kSmaller); };
  if (name == "warm_up") {
    return {.batches = o.schedule.warm_up.batches.value_or(0), .epochs = o.schedule.warm_up.epochs};
  }
  if (name == "early_stopping") {
    return {.metric = watched(),
            .better = MinimizesOf(o) ? Better::kSmaller : Better::kLarger,
            .patience = o.schedule.early_stopping.patience,
            .min_delta = o.schedule.early_stopping.min_delta};
  }
  if (name == "reduce_lr_on_plateau") {
    return {.metric = watched(),
            .better = better(),
            .patience = o.schedule.reduce_on_plateau.patience,
            .factor = o.schedule.reduce_on_plateau.factor,
            .min_lr = o.schedule.reduce_on_plateau.min_rate};
  }
  if (name == "reduce_lr_every_nepochs") {
    return {.nepochs = o.schedule.reduce_every.epochs,
            .factor = o.schedule.reduce_every.factor,
            .min_lr = o.schedule.reduce_every.min_rate};
  }
  if (name == "model_checkpoint") {
    return {
        .metric = watched(), .better = better(), .save_freq = o.schedule.keep_best.every_epochs};
  }
  if (name == "stop_at_loss") {
    return {.metric = watched(),
            .better = better(),
            .threshold = o.schedule.stop_at.threshold.value_or(0)};
  }
  const auto floor = [&](double min_rate) {
    return std::min(1.0, min_rate / InitialLearningRate(o, ranks));
  };
  if (name == "cosine") {
    return {.restart_epochs = o.schedule.cosine.restart_epochs,
            .restart_growth = o.schedule.cosine.restart_growth,
            .floor = floor(o.schedule.cosine.min_rate)};
  }
  if (name == "polynomial") {
    return {.floor = floor(o.schedule.polynomial.min_rate), .power = o.schedule.polynomial.power};
  }
  return {};
}

absl::Status CheckWatched(const Scheduler& scheduler, const MetricSet& metric_set,
                          bool has_validation, bool is_private) {
  const std::string_view watched = scheduler.watched();
  if (watched.empty()) return absl::OkStatus();
  if (is_private && !watched.starts_with("val_")) {
    return UsageError("RunOptions::schedule.schedulers: ", scheduler.name(), " watches ", watched,
                      ", a metric of training, which has no noise: with "
                      "RunOptions::training.dp_sgd_clip give one of validation (val_",
                      watched, "), or leave the scheduler out");
  }
  if (watched.starts_with("val_") && !has_validation) {
    return UsageError("RunOptions::schedule.schedulers: ", scheduler.name(), " watches ", watched,
                      ", but there are no validation samples: give "
                      "RunOptions::data.validation_split or RunOptions::data.test_as_validation");
  }
  if (metric_set.FindBetter(watched)) return absl::OkStatus();
  return UsageError(
      "RunOptions::schedule.schedulers: ", scheduler.name(), " watches ", scheduler.watched(),
      ", which this run does not compute; available: ", absl::StrJoin(metric_set.Names(), ", "),
      "; RunOptions::training.metrics adds others");
}

}  // namespace

bool WatchTraining(RunOptions& options) {
  constexpr std::string_view kValidation = "val_";
  bool changed = false;
  for (const Watcher& watcher : Watchers()) {
    const std::string watched = WatchedBy(watcher.scheduler, options);
    if (!Schedules(options, watcher.scheduler) || !watched.starts_with(kValidation)) continue;
    watcher.metric(options.schedule) = watched.substr(kValidation.size());
    changed = true;
  }
  return changed;
}

absl::StatusOr<std::vector<std::shared_ptr<Scheduler>>> MakeSchedulers(
    const RunOptions& options, const MetricSet& metric_set, bool has_validation, int64_t ranks,
    std::vector<std::shared_ptr<Scheduler>> own) {
  const bool is_private = options.training.dp_sgd_clip > 0;
  for (const auto& scheduler : own) {
    DTNN_RETURN_IF_ERROR(CheckWatched(*scheduler, metric_set, has_validation, is_private));
  }
  if (!own.empty()) return own;
  std::vector<std::shared_ptr<Scheduler>> schedulers;
  for (const std::string& name : SchedulersOf(options)) {
    auto scheduler = MakeScheduler(name, ConstantsOf(name, options, metric_set, ranks));
    if (!scheduler.ok())
      return UsageError("RunOptions::schedule.schedulers: ", scheduler.status().message());
    DTNN_RETURN_IF_ERROR(CheckWatched(**scheduler, metric_set, has_validation, is_private));
    schedulers.push_back(*std::move(scheduler));
  }
  return schedulers;
}

std::vector<std::string> DescribeMinimums(const RunOptions& options, int64_t ranks) {
  const struct {
    const char *scheduler, *flag;
    double minimum;
    const char* effect;
  } minimums[] = {
      {"reduce_lr_on_plateau", "RunOptions::schedule.reduce_on_plateau.min_rate",
       options.schedule.reduce_on_plateau.min_rate, "is never reduced"},
      {"reduce_lr_every_nepochs", "RunOptions::schedule.reduce_every.min_rate",
       options.schedule.reduce_every.min_rate, "is never reduced"},
      {"cosine", "RunOptions::schedule.cosine.min_rate", options.schedule.cosine.min_rate,
       "stays as it is"},
      {"polynomial", "RunOptions::schedule.polynomial.min_rate",
       options.schedule.polynomial.min_rate, "stays as it is"},
  };
  const double rate = InitialLearningRate(options, ranks);
  std::vector<std::string> lines;
  for (const auto& [scheduler, flag, minimum, effect] : minimums) {
    if (minimum <= rate || !Schedules(options, scheduler)) continue;
    lines.push_back(StrCat(flag, "=", minimum, ": is above the learning rate, ", rate,
                           ", so the rate ", effect));
  }
  return lines;
}

}  // namespace dtnn
