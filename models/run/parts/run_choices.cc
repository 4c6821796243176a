#include "models/run/parts/run_choices.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_join.h"
#include "data/preprocessing.h"
#include "data/transforms/transform.h"
#include "models/run/options/in_force.h"
#include "models/run/options/option_text.h"
#include "models/run/options/option_value.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

// A setting that is compared by its value. What its value does to the samples of an epoch is
// compared beside it, with the settings of its loader. Files have it by `key`, the name that the
// launcher gives it.
RunChoice Choice(std::string_view key, std::string_view member, const auto& value,
                 MayChange may_change = MayChange::kYes,
                 OtherMetrics other_metrics = OtherMetrics::kNone) {
  return {.what = StrCat("RunOptions::", member),
          .value = FormatValue(ToValue(value)),
          .key = StrCat("--", key),
          .may_change = may_change,
          .other_metrics = other_metrics};
}

std::vector<RunChoice> OfTraining(const RunOptions& o) {
  using enum MayChange;
  using enum OtherMetrics;
  return {
      Choice("loss-func", "training.loss", o.training.loss, kYes, kAll),
      Choice("metrics", "training.metrics", o.training.metrics),
      Choice("class-weights", "training.class_weights", o.training.class_weights, kYes, kTraining),
      Choice("validation-split", "data.validation_split", o.data.validation_split, kAfterAnEpoch,
             kAll),
      Choice("test-as-validation", "data.test_as_validation", o.data.test_as_validation,
             kAfterAnEpoch, kAll),
      Choice("dataset-percentage", "data.share", o.data.share, kAfterAnEpoch, kAll),
      Choice("dataset-part", "data.part", o.data.part, kAfterAnEpoch, kAll),
      Choice("steps-per-epoch", "training.steps_per_epoch", o.training.steps_per_epoch),
      Choice("augment-shuffle", "data.shuffle", o.data.shuffle),
      Choice("accumulate-steps", "training.accumulate_steps", o.training.accumulate_steps),
      Choice("sync-batch-norm", "sync.batch_norm", o.sync.batch_norm),
      Choice("model-sync-freq", "sync.model_steps", o.sync.model_steps),
      Choice("model-sync-alg", "sync.weighting", o.sync.weighting),
      Choice("gradient-compression", "sync.compression", o.sync.compression),
      Choice("math-mode", "device.math_mode", o.device.math_mode),
  };
}

// A metric that is watched.
RunChoice Watched(std::string_view key, std::string_view member, const std::string& metric) {
  return Choice(key, member, metric, MayChange::kYes, OtherMetrics::kAll);
}

std::vector<RunChoice> OfScheduler(std::string_view name, const SchedulerOptions& o) {
  if (name == "warm_up") {
    return {Choice("warm-up-batches", "schedule.warm_up.batches", o.warm_up.batches),
            Choice("warm-up-epochs", "schedule.warm_up.epochs", o.warm_up.epochs)};
  }
  if (name == "early_stopping") {
    return {
        Watched("early-stopping-metric", "schedule.early_stopping.metric", o.early_stopping.metric),
        Choice("early-stopping-patience", "schedule.early_stopping.patience",
               o.early_stopping.patience),
        Choice("early-stopping-minimize", "schedule.early_stopping.minimize",
               o.early_stopping.minimize)};
  }
  if (name == "reduce_lr_on_plateau") {
    return {Watched("reduce-lr-on-plateau-metric", "schedule.reduce_on_plateau.metric",
                    o.reduce_on_plateau.metric),
            Choice("reduce-lr-on-plateau-factor", "schedule.reduce_on_plateau.factor",
                   o.reduce_on_plateau.factor),
            Choice("reduce-lr-on-plateau-patience", "schedule.reduce_on_plateau.patience",
                   o.reduce_on_plateau.patience),
            Choice("reduce-lr-on-plateau-min-lr", "schedule.reduce_on_plateau.min_rate",
                   o.reduce_on_plateau.min_rate)};
  }
  if (name == "reduce_lr_every_nepochs") {
    return {Choice("reduce-lr-every-nepochs-factor", "schedule.reduce_every.factor",
                   o.reduce_every.factor),
            Choice("reduce-lr-every-nepochs-nepochs", "schedule.reduce_every.epochs",
                   o.reduce_every.epochs),
            Choice("reduce-lr-every-nepochs-min-lr", "schedule.reduce_every.min_rate",
                   o.reduce_every.min_rate)};
  }
  if (name == "stop_at_loss") {
    return {Watched("stop-at-loss-metric", "schedule.stop_at.metric", o.stop_at.metric),
            Choice("stop-at-loss-threshold", "schedule.stop_at.threshold", o.stop_at.threshold)};
  }
  if (name == "model_checkpoint") {
    return {Watched("model-checkpoint-metric", "schedule.keep_best.metric", o.keep_best.metric),
            Choice("model-checkpoint-save-freq", "schedule.keep_best.every_epochs",
                   o.keep_best.every_epochs)};
  }
  if (name == "cosine") {
    return {Choice("cosine-min-lr", "schedule.cosine.min_rate", o.cosine.min_rate)};
  }
  return {};
}

}  // namespace

std::vector<RunChoice> MakeRunChoices(const RunOptions& options, const Dataset& dataset,
                                      const Loaders& loaders) {
  std::vector<RunChoice> choices;
  if (const std::vector<std::string> names = dataset.class_names(); !names.empty()) {
    choices.push_back({.what = "list of classes",
                       .value = absl::StrJoin(names, ", "),
                       .may_change = MayChange::kNever});
  }
  const RunOptions in_force = InForce(options);
  for (RunChoice& choice : OfTraining(in_force)) choices.push_back(std::move(choice));
  for (const std::string& scheduler : SchedulersOf(options)) {
    for (RunChoice& choice : OfScheduler(scheduler, in_force.schedule)) {
      choice.of_scheduler = scheduler;
      choices.push_back(std::move(choice));
    }
  }
  choices.push_back({.what = "preprocessing of the samples",
                     .value = Describe(loaders.preprocessing),
                     .other_metrics = OtherMetrics::kAll});
  if (loaders.training == nullptr) return choices;
  std::vector<std::string> transforms = ToStrings(loaders.training->options().transforms);
  if (options.data.augment.mixup > 0) {
    transforms.push_back(StrCat("mixup:", options.data.augment.mixup));
  }
  choices.push_back({.what = "list of transforms",
                     .value = transforms.empty() ? "none" : absl::StrJoin(transforms, ","),
                     .other_metrics = OtherMetrics::kTraining});
  return choices;
}

}  // namespace dtnn
