#include "models/run/parts/run_identity.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_join.h"
#include "data/preprocessing.h"
#include "data/transforms/transform.h"
#include "models/run/options/in_force.h"
#include "models/run/options/option_members.h"
#include "models/run/options/option_value.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

// Options that are compared by their values. What a value does to the samples of an epoch is
// compared beside it, with the settings of its loader.
void AddOptions(const RunOptions& options, std::vector<IdentityMember>& members) {
  const RunOptions in_force = InForce(options);
  for (const OptionMember& member : OptionMembers()) {
    const Identity& identity = member.identity;
    const bool has_it = identity.of_scheduler.empty() || Schedules(options, identity.of_scheduler);
    if (identity.in != Identity::In::kChoices || !has_it) continue;
    members.push_back({.what = StrCat("RunOptions::", member.path),
                       .value = FormatValue(member.load(in_force)),
                       .key = StrCat("--", identity.key),
                       .may_change = identity.may_change,
                       .other_metrics = identity.other_metrics,
                       .of_scheduler = std::string(identity.of_scheduler)});
  }
}

}  // namespace

RunIdentity MakeRunIdentity(const RunOptions& options, const Optimizer& optimizer,
                            const Dataset& dataset, const DataFingerprint& data,
                            const Loaders& loaders) {
  RunIdentity identity = {.data = data, .epochs = options.training.epochs};
  std::vector<IdentityMember>& members = identity.members;
  if (const std::vector<std::string> names = dataset.class_names(); !names.empty()) {
    members.push_back({.what = "list of classes",
                       .value = absl::StrJoin(names, ", "),
                       .may_change = MayChange::kNever});
  }
  for (const auto& [name, value] : optimizer.constants()) {
    members.push_back({.what = ConstantOfOptimizer(name),
                       .value = FormatValue(value),
                       .may_change = MayChange::kAfterAnEpoch});
  }
  AddOptions(options, members);
  members.push_back({.what = "preprocessing of the samples",
                     .value = Describe(loaders.preprocessing),
                     .other_metrics = OtherMetrics::kAll});
  if (loaders.training == nullptr) return identity;
  std::vector<std::string> transforms = ToStrings(loaders.training->options().transforms);
  if (options.data.augment.mixup > 0) {
    transforms.push_back(StrCat("mixup:", options.data.augment.mixup));
  }
  members.push_back({.what = "list of transforms",
                     .value = transforms.empty() ? "none" : absl::StrJoin(transforms, ","),
                     .other_metrics = OtherMetrics::kTraining});
  return identity;
}

}  // namespace dtnn
