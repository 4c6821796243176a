#include "optim/schedulers/early_stopping.h"

#include "tensor/status_macros.h"
#include "tensor/text/str_cat.h"

namespace dtnn {

EarlyStopping::EarlyStopping(const EarlyStoppingOptions& options)
    : options_(options), best_(options.better) {}

absl::Status EarlyStopping::OnEpochEnd(const EpochMetrics& metrics, SchedulerHost& host) {
  DTNN_ASSIGN_OR_RETURN(const double value, WatchedValue(*this, metrics));
  if (best_.Improve(value, options_.min_delta)) {
    best_epoch_ = metrics.epoch;
    return host.KeepParameters();
  }
  const int64_t waited = metrics.epoch - best_epoch_;
  if (waited < options_.patience) return absl::OkStatus();
  host.Say(StrCat("LRScheduler EarlyStopping: metric ", options_.metric, " did not improve for ",
                  waited, " epochs, stop training!"));
  host.Stop();
  return best_epoch_ > 0 ? RestoreBest(host) : absl::OkStatus();
}

absl::Status EarlyStopping::OnRunEnd(int64_t epochs, SchedulerHost& host) {
  const bool earlier = best_epoch_ > 0 && best_epoch_ < epochs;
  return earlier ? RestoreBest(host) : absl::OkStatus();
}

absl::Status EarlyStopping::RestoreBest(SchedulerHost& host) const {
  DTNN_RETURN_IF_ERROR(host.RestoreParameters(best_epoch_));
  host.Say(StrCat("LRScheduler EarlyStopping: restored the parameters of epoch ", best_epoch_,
                  ", which has the best ", options_.metric));
  return absl::OkStatus();
}

std::vector<double> EarlyStopping::State() const { return {best_.value(), double(best_epoch_)}; }

absl::Status EarlyStopping::Restore(std::span<const double> state) {
  DTNN_RETURN_IF_ERROR(CheckState(*this, state, 2));
  DTNN_ASSIGN_OR_RETURN(best_epoch_, EpochsInState(*this, state[1]));
  best_.set_value(state[0]);
  return absl::OkStatus();
}

}  // namespace dtnn
