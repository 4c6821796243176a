#include "apps/make_schedulers.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "apps/exit_code.h"
#include "optim/schedulers/cosine.h"
#include "optim/schedulers/early_stopping.h"
#include "optim/schedulers/model_checkpoint.h"
#include "optim/schedulers/one_cycle.h"
#include "optim/schedulers/reduce_lr_every_nepochs.h"
#include "optim/schedulers/reduce_lr_on_plateau.h"
#include "optim/schedulers/stop_at_loss.h"
#include "optim/schedulers/warm_up.h"
#include "tensor/status_macros.h"

namespace dtnn {
namespace {

// Null for a name that is none.
std::shared_ptr<Scheduler> Make(const std::string& name, const Options& o) {
  if (name == "warm_up") {
    return std::make_shared<WarmUp>(
        WarmUpOptions{.batches = o.warm_up_batches.value_or(0), .epochs = o.warm_up_epochs});
  }
  if (name == "early_stopping") {
    return std::make_shared<EarlyStopping>(
        EarlyStoppingOptions{.metric = o.early_stopping_metric,
                             .patience = o.early_stopping_patience,
                             .minimize = o.early_stopping_minimize});
  }
  if (name == "reduce_lr_on_plateau") {
    return std::make_shared<ReduceLrOnPlateau>(
        ReduceLrOnPlateauOptions{.metric = o.reduce_lr_on_plateau_metric,
                                 .factor = o.reduce_lr_on_plateau_factor,
                                 .patience = o.reduce_lr_on_plateau_patience,
                                 .min_lr = o.reduce_lr_on_plateau_min_lr});
  }
  if (name == "reduce_lr_every_nepochs") {
    return std::make_shared<ReduceLrEveryNepochs>(
        ReduceLrEveryNepochsOptions{.factor = o.reduce_lr_every_nepochs_factor,
                                    .nepochs = o.reduce_lr_every_nepochs_nepochs,
                                    .min_lr = o.reduce_lr_every_nepochs_min_lr});
  }
  if (name == "model_checkpoint") {
    return std::make_shared<ModelCheckpoint>(ModelCheckpointOptions{
        .metric = o.model_checkpoint_metric, .save_freq = o.model_checkpoint_save_freq});
  }
  if (name == "stop_at_loss") {
    return std::make_shared<StopAtLoss>(
        StopAtLossOptions{.metric = o.stop_at_loss_metric, .threshold = o.stop_at_loss_threshold});
  }
  if (name == "cosine") {
    return std::make_shared<Cosine>(
        CosineOptions{.floor = std::min(1.0, o.cosine_min_lr / o.learning_rate)});
  }
  if (name == "one_cycle") return std::make_shared<OneCycle>();
  return nullptr;
}

absl::Status CheckWatched(const Scheduler& scheduler, const Figures& figures, bool has_validation) {
  std::vector<std::string> names = {std::string(figures.loss->name())};
  for (const auto& metric : figures.metrics) names.emplace_back(metric->name());
  std::string_view watched = scheduler.watched();
  if (watched.empty()) return absl::OkStatus();
  if (watched.starts_with("val_")) {
    if (!has_validation) {
      return UsageError(absl::StrCat("--schedulers: ", std::string(scheduler.name()), " watches ",
                                     std::string(watched),
                                     ", but there are no validation samples: give "
                                     "--validation-split or --test-as-validation"));
    }
    watched.remove_prefix(4);
  }
  if (std::ranges::find(names, watched) != names.end()) return absl::OkStatus();
  return UsageError(absl::StrCat("--schedulers: ", std::string(scheduler.name()), " watches ",
                                 std::string(scheduler.watched()),
                                 ", which this run does not compute; there are ",
                                 absl::StrJoin(names, ", "), "; --metrics adds others"));
}

}  // namespace

absl::StatusOr<std::vector<std::shared_ptr<Scheduler>>> MakeSchedulers(const Options& options,
                                                                       const Figures& figures,
                                                                       bool has_validation) {
  std::vector<std::shared_ptr<Scheduler>> schedulers;
  for (const std::string& name : options.schedulers) {
    if (name == "model_checkpoint" && options.model_dir.empty()) continue;
    std::shared_ptr<Scheduler> scheduler = Make(name, options);
    if (scheduler == nullptr) {
      return UsageError(absl::StrCat("--schedulers: there is no scheduler ", name));
    }
    DTNN_RETURN_IF_ERROR(CheckWatched(*scheduler, figures, has_validation));
    schedulers.push_back(std::move(scheduler));
  }
  return schedulers;
}

}  // namespace dtnn
