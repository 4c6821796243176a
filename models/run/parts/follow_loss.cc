#include "models/run/parts/follow_loss.h"

#include <algorithm>
#include <string>
#include <vector>

#include "optim/metrics/metrics.h"
#include "tensor/text/str_cat.h"

namespace dtnn {

Better BetterWatched(std::string_view watched) {
  if (watched.starts_with("val_")) watched.remove_prefix(4);
  const auto metric = MakeMetric(watched);
  return metric.ok() ? (*metric)->better() : Better::kSmaller;  // a loss
}

void FollowLoss(RunOptions& options, std::string_view before) {
  const GivenOptions& given = options.given;
  const bool validates = options.data.test_as_validation || options.data.validation_split > 0;
  const std::string loss = StrCat(validates ? "val_" : "", options.training.loss);
  const auto follow = [&](std::string_view option, std::string& metric) {
    if (given.contains(option)) return;
    if (metric == before || metric == StrCat("val_", before)) metric = loss;
  };
  follow("early-stopping-metric", options.schedule.early_stopping.metric);
  follow("reduce-lr-on-plateau-metric", options.schedule.reduce_on_plateau.metric);
  follow("model-checkpoint-metric", options.schedule.keep_best.metric);
  if (!validates && !given.contains("stop-at-loss-metric")) {
    options.schedule.stop_at.metric = "categorical_accuracy";
  }
  if (!given.contains("early-stopping-minimize")) {
    options.schedule.early_stopping.minimize =
        BetterWatched(options.schedule.early_stopping.metric) == Better::kSmaller;
  }
  // Only who asks for files gets them.
  if (!options.schedule.model_folder.empty()) return;
  if (!given.contains("schedulers")) {
    std::erase(options.schedule.schedulers, "model_checkpoint");
  } else if (std::ranges::count(options.schedule.schedulers, "model_checkpoint") > 0) {
    options.schedule.model_folder = ".";
  }
}

}  // namespace dtnn
