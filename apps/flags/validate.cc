#include "apps/flags/validate.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "absl/strings/str_join.h"
#include "apps/flags/option_needs.h"
#include "apps/flags/option_table.h"
#include "apps/flags/value.h"
#include "comm/ranks/job/exit_code.h"
#include "data/transforms/transform_list.h"
#include "models/run/checks/check_constants.h"
#include "models/run/checks/check_options.h"
#include "tensor/status_macros.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

bool Contains(const std::vector<std::string>& list, std::string_view item) {
  return std::ranges::find(list, item) != list.end();
}

absl::Status CheckRequired(const Options& options) {
  // A file of a model says which network it is.
  const bool file_may_say = !options.network.weights.empty();
  const bool lacks_data = options.data.name.empty() && !options.dry_run;
  if (options.network.name.empty() && !file_may_say) {
    if (lacks_data) {
      return UsageError(
          "--model and --dataset: missing; options change a run that has a network and data, such "
          "as --model=simplecnn --dataset=mnist, or --dataset=synthetic, which needs no files "
          "(--model=list and --dataset=list show all)");
    }
    return UsageError(
        "--model: missing; name a network, such as --model=simplecnn (--model=list shows all), or "
        "the file of a trained one by --weights-and-bias-filename");
  }
  if (lacks_data) {
    return UsageError(
        "--dataset: missing; name a data set, such as --dataset=mnist (--dataset=list shows all)");
  }
  const bool reads =
      options.data.name != "synthetic" && !options.data.synthetic.instead && !options.dry_run;
  const bool train = reads && ReadsTraining(options) && TrainPath(options).empty();
  const bool test = reads && ReadsTest(options) && TestPath(options).empty();
  if (train || test) {
    const std::string_view flag = !options.data.train_path.empty()  ? "--dataset-test-path"
                                  : !options.data.test_path.empty() ? "--dataset-train-path"
                                                                    : "--dataset-path";
    return UsageError(flag, ": missing; where are the files of --dataset=", options.data.name, "?");
  }
  return absl::OkStatus();
}

// --augment with all parameters written out, so that a run's list of options says what it does.
absl::Status SpellTransforms(Options& options) {
  if (options.data.augment.transforms.empty()) return absl::OkStatus();
  const auto transforms = ParseTransforms(options.data.augment.transforms);
  const std::string flag =
      StrCat("--augment=", OneLine(options.data.augment.transforms, 200), ": ");
  if (!transforms.ok()) {
    return UsageError(flag, OneLine(std::string(transforms.status().message()), 500),
                      " (--augment=list explains them)");
  }
  options.data.augment.transforms = absl::StrJoin(ToStrings(*transforms), ",");
  return absl::OkStatus();
}

}  // namespace

absl::Status SplitLossFunction(Options& options) {
  if (!options.given.contains("loss-func")) return absl::OkStatus();
  std::vector<std::string> losses, metrics;
  for (const std::string_view item : SplitList(options.training.loss)) {
    const bool loss = item.ends_with("_cross_entropy") || item == "mse" || item == "mae";
    (loss ? losses : metrics).emplace_back(item);
  }
  if (losses.size() != 1) {
    return UsageError("--loss-func=", options.training.loss,
                      ": must name exactly one loss: categorical_cross_entropy, "
                      "binary_cross_entropy, mse or mae");
  }
  options.training.loss = losses[0];
  if (metrics.empty()) return absl::OkStatus();
  std::vector<std::string> all = options.training.metrics.value_or({});
  std::ranges::copy_if(metrics, std::back_inserter(all),
                       [&](const std::string& metric) { return !Contains(all, metric); });
  options.training.metrics = std::move(all);
  options.given.insert("metrics");
  return absl::OkStatus();
}

absl::Status ValidateOptions(Options& options, std::vector<std::string>& warnings) {
  DTNN_RETURN_IF_ERROR(SplitLossFunction(options));
  DTNN_RETURN_IF_ERROR(CheckRunOptions(options));
  DTNN_RETURN_IF_ERROR(CheckRequired(options));
  DTNN_RETURN_IF_ERROR(SpellTransforms(options));
  std::ranges::move(WithoutEffect(options), std::back_inserter(warnings));
  return absl::OkStatus();
}

std::vector<std::string> WithoutEffect(const Options& options) {
  std::vector<std::pair<std::string, std::vector<std::string>>> reasons;
  const Options in_force = OptionsInForce(options);
  for (const OptionSpec& spec : OptionTable()) {
    if (!options.given.contains(spec.name) || IsOffAnyway(spec, in_force)) continue;
    for (const std::string& reason : UnmetNeeds(spec, in_force)) {
      auto known =
          std::ranges::find(reasons, reason, [](const auto& entry) { return entry.first; });
      if (known == reasons.end()) known = reasons.insert(known, {reason, {}});
      known->second.push_back(StrCat("--", spec.name));
    }
  }
  std::vector<std::string> lines;
  for (const auto& [reason, names] : reasons) {
    lines.push_back(StrCat(absl::StrJoin(names, ", "), names.size() == 1 ? " has" : " have",
                           " no effect ", reason));
  }
  return lines;
}

void DropOtherConstants(Options& options) {
  const Options defaults;
  const std::vector<std::string_view> others = OtherConstants(options);
  for (const OptionSpec& spec : OptionTable()) {
    if (std::ranges::count(others, spec.path) == 0) continue;
    spec.field.store(spec.field.load(&defaults, spec.field.variable), &options,
                     spec.field.variable);
  }
}

}  // namespace dtnn
