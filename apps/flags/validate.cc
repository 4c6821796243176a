#include "apps/flags/validate.h"

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "apps/exit_code.h"
#include "apps/flags/option_table.h"
#include "apps/flags/value.h"
#include "tensor/status_macros.h"

namespace dtnn {
namespace {

bool Contains(const std::vector<std::string>& list, std::string_view item) {
  return std::ranges::find(list, item) != list.end();
}

// --loss-func=categorical_accuracy,categorical_cross_entropy: the one loss is the loss, the rest
// are metrics.
absl::Status SplitLossFunction(const GivenOptions& given, Options& options) {
  if (!given.contains("loss-func")) return absl::OkStatus();
  std::vector<std::string> losses, metrics;
  for (const std::string_view item : SplitList(options.loss_func)) {
    (item.ends_with("_cross_entropy") ? losses : metrics).emplace_back(item);
  }
  if (losses.size() != 1) {
    return UsageError(absl::StrCat("--loss-func=", options.loss_func,
                                   ": must name exactly one loss: categorical_cross_entropy"));
  }
  options.loss_func = losses[0];
  if (metrics.empty()) return absl::OkStatus();
  if (!given.contains("metrics")) {
    options.metrics = std::move(metrics);
    return absl::OkStatus();
  }
  for (std::string& metric : metrics) {
    if (!Contains(options.metrics, metric)) options.metrics.push_back(std::move(metric));
  }
  return absl::OkStatus();
}

absl::Status CheckSizes(const Options& options) {
  if (options.batch_size && options.global_batch_size) {
    return UsageError(absl::StrCat("--batch-size=", *options.batch_size,
                                   " and --global-batch-size=", *options.global_batch_size,
                                   ": exclude each other; give one of them"));
  }
  DTNN_RETURN_IF_ERROR(BatchSizePerRank(options).status());
  if (options.synthetic_input_shape.size() != 3) {
    return UsageError(
        absl::StrCat("--synthetic-input-shape=", absl::StrJoin(options.synthetic_input_shape, ","),
                     ": must be three whole numbers: channels,height,width"));
  }
  if (options.synthetic_output_shape.size() != 1) {
    return UsageError(absl::StrCat(
        "--synthetic-output-shape=", absl::StrJoin(options.synthetic_output_shape, ","),
        ": must be one whole number: the classes"));
  }
  return absl::OkStatus();
}

absl::Status CheckRequired(const Options& options) {
  if (options.model.empty()) {
    return UsageError(
        "--model: missing; name a network, such as --model=simplecnn (--model=list shows all)");
  }
  if (options.dataset.empty()) {
    return UsageError(
        "--dataset: missing; name a data set, such as --dataset=mnist (--dataset=list shows all)");
  }
  return absl::OkStatus();
}

// One line for each option of `names` that was given although `because` makes it pointless.
void WarnPointless(const GivenOptions& given, std::initializer_list<std::string_view> names,
                   std::string_view because, std::vector<std::string>& warnings) {
  for (const std::string_view name : names) {
    if (given.contains(name)) {
      warnings.push_back(
          absl::StrCat("--", std::string(name), " has no effect ", std::string(because)));
    }
  }
}

void Warn(const GivenOptions& given, const Options& options, std::vector<std::string>& warnings) {
  if (options.evaluate_only) {
    warnings.push_back("--evaluate-only: tests a network with random weights, as none are loaded");
    WarnPointless(given, {"num-epochs", "steps-per-epoch", "validation-split"},
                  "with --evaluate-only", warnings);
  }
  if (options.optimizer == "sgd") {
    WarnPointless(given, {"optimizer-beta1", "optimizer-beta2", "optimizer-epsilon"},
                  "with --optimizer=sgd", warnings);
  } else {
    WarnPointless(given, {"optimizer-momentum", "optimizer-nesterov"},
                  absl::StrCat("with --optimizer=", options.optimizer), warnings);
  }
  if (options.dataset == "synthetic") {
    WarnPointless(given, {"dataset-path", "dataset-train-path", "dataset-test-path"},
                  "with --dataset=synthetic", warnings);
  } else {
    WarnPointless(given,
                  {"synthetic-train-samples", "synthetic-test-samples", "synthetic-input-shape",
                   "synthetic-output-shape"},
                  absl::StrCat("with --dataset=", options.dataset), warnings);
  }
  if (options.test_as_validation) {
    WarnPointless(given, {"validation-split"}, "with --test-as-validation", warnings);
  }
}

}  // namespace

absl::Status ValidateOptions(const GivenOptions& given, Options& options,
                             std::vector<std::string>& warnings) {
  DTNN_RETURN_IF_ERROR(SplitLossFunction(given, options));
  DTNN_RETURN_IF_ERROR(CheckSizes(options));
  DTNN_RETURN_IF_ERROR(CheckRequired(options));
  Warn(given, options, warnings);
  return absl::OkStatus();
}

}  // namespace dtnn
