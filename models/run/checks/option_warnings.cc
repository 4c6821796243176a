#include "models/run/checks/option_warnings.h"

#include "models/run/options/in_force.h"
#include "models/run/options/option_text.h"
#include "optim/losses/better.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

void AddOfSchedulers(const RunOptions& options, std::vector<std::string>& warnings) {
  if (Schedules(options, "stop_at_loss") && !options.schedule.stop_at.threshold) {
    warnings.push_back(
        "RunOptions::schedule.schedulers: stop_at_loss without "
        "RunOptions::schedule.stop_at.threshold ends a run that watches an accuracy after its "
        "first epoch");
  }
  const std::string watched = WatchedBy("early_stopping", options);
  const bool smaller = BetterWatched(watched) == Better::kSmaller;
  if (Schedules(options, "early_stopping") && MinimizesOf(options) != smaller) {
    warnings.push_back(StrCat("RunOptions::schedule.early_stopping.minimize=", ToText(!smaller),
                              ": but ", smaller ? "smaller" : "larger", " values of ", watched,
                              " are better"));
  }
}

}  // namespace

std::vector<std::string> OptionWarnings(const RunOptions& options, bool own_schedulers) {
  std::vector<std::string> warnings;
  if (options.training.evaluate_only && options.network.weights.empty()) {
    warnings.push_back(
        "RunOptions::training.evaluate_only: tests a network with random weights; load trained "
        "ones with RunOptions::network.weights");
  }
  if (options.data.share >= 5) {  // for so many passes a user gives more epochs
    const std::string share = ToText(options.data.share);
    warnings.push_back(StrCat("RunOptions::data.share=", share,
                              ": is a share, not per cent; uses all data ", share,
                              " times in each epoch"));
  }
  if (options.training.dp_sgd_clip > 0) {
    warnings.push_back(
        "RunOptions::training.dp_sgd_clip: protects samples in the model; loss and metrics of "
        "training, in the output and in files, have no noise");
  }
  if (!own_schedulers) AddOfSchedulers(options, warnings);
  if (options.encryption.security_level == "0" && !options.encryption.kind.empty()) {
    warnings.push_back(
        "RunOptions::encryption.security_level=0: nobody checks that "
        "RunOptions::encryption.poly_degree and RunOptions::encryption.global_scale protect "
        "anything; for experiments only");
  }
  return warnings;
}

}  // namespace dtnn
