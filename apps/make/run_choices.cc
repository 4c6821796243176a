#include "apps/make/run_choices.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "absl/strings/str_join.h"
#include "apps/flags/option_table.h"
#include "apps/flags/value.h"
#include "data/preprocessing.h"
#include "data/transforms/transform.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

// Options that are compared by their values. What their values do to the samples of an epoch is
// compared beside it, with the settings of its loader.
constexpr struct {
  std::string_view name;
  MayChange may_change;
  OtherMetrics other_metrics;
} kCompared[] = {
    {"loss-func", MayChange::kYes, OtherMetrics::kAll},
    {"metrics", MayChange::kYes, OtherMetrics::kNone},
    {"class-weights", MayChange::kYes, OtherMetrics::kTraining},
    {"validation-split", MayChange::kAfterAnEpoch, OtherMetrics::kAll},
    {"test-as-validation", MayChange::kAfterAnEpoch, OtherMetrics::kAll},
    {"dataset-percentage", MayChange::kAfterAnEpoch, OtherMetrics::kAll},
    {"dataset-part", MayChange::kAfterAnEpoch, OtherMetrics::kAll},
    {"steps-per-epoch", MayChange::kYes, OtherMetrics::kNone},
    {"augment-shuffle", MayChange::kYes, OtherMetrics::kNone},
    {"accumulate-steps", MayChange::kYes, OtherMetrics::kNone},
    {"sync-batch-norm", MayChange::kYes, OtherMetrics::kNone},
    {"model-sync-freq", MayChange::kYes, OtherMetrics::kNone},
    {"model-sync-alg", MayChange::kYes, OtherMetrics::kNone},
    {"gradient-compression", MayChange::kYes, OtherMetrics::kNone},
    {"math-mode", MayChange::kYes, OtherMetrics::kNone},
};

std::string ValueOf(const Options& options, const OptionSpec& spec) {
  return FormatValue(Load(&options, spec));
}

// "reduce_lr_on_plateau": "reduce-lr-on-plateau-".
std::string PrefixOf(std::string scheduler) {
  std::ranges::replace(scheduler, '_', '-');
  return scheduler + "-";
}

}  // namespace

std::vector<RunChoice> MakeRunChoices(const Options& options, const Dataset& dataset,
                                      const Loaders& loaders) {
  std::vector<RunChoice> choices;
  if (const std::vector<std::string> names = dataset.class_names(); !names.empty()) {
    choices.push_back({.what = "list of classes",
                       .value = absl::StrJoin(names, ", "),
                       .may_change = MayChange::kNever});
  }
  for (const auto& [name, may_change, other_metrics] : kCompared) {
    choices.push_back({.what = StrCat("--", name),
                       .value = ValueOf(options, *FindOption(name)),
                       .may_change = may_change,
                       .other_metrics = other_metrics});
  }
  for (const std::string& scheduler : options.schedule.schedulers) {
    const std::string prefix = PrefixOf(scheduler);
    for (const OptionSpec& spec : OptionTable()) {
      if (!spec.name.starts_with(prefix)) continue;
      choices.push_back({.what = StrCat("--", spec.name),
                         .value = ValueOf(options, spec),
                         .other_metrics = spec.name == prefix + "metric" ? OtherMetrics::kAll
                                                                         : OtherMetrics::kNone,
                         .of_scheduler = scheduler});
    }
  }
  choices.push_back({.what = "preprocessing of the samples",
                     .value = Describe(loaders.preprocessing),
                     .other_metrics = OtherMetrics::kAll});
  if (loaders.training == nullptr) return choices;
  std::vector<std::string> transforms = ToStrings(loaders.training->options().transforms);
  if (options.data.augment.mixup > 0)
    transforms.push_back(StrCat("mixup:", options.data.augment.mixup));
  choices.push_back({.what = "list of transforms",
                     .value = transforms.empty() ? "none" : absl::StrJoin(transforms, ","),
                     .other_metrics = OtherMetrics::kTraining});
  return choices;
}

}  // namespace dtnn
