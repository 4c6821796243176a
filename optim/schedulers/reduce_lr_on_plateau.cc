#include "optim/schedulers/reduce_lr_on_plateau.h"

#include "absl/strings/str_format.h"
#include "optim/schedulers/reduce_lr.h"
#include "tensor/status_macros.h"

namespace dtnn {

ReduceLrOnPlateau::ReduceLrOnPlateau(const ReduceLrOnPlateauOptions& options)
    : options_(options), best_(options.better) {}

absl::Status ReduceLrOnPlateau::OnEpochEnd(const EpochMetrics& metrics, SchedulerHost& host) {
  DTNN_ASSIGN_OR_RETURN(const double value, WatchedValue(*this, metrics));
  if (best_.Improve(value)) {
    since_ = metrics.epoch;
    return absl::OkStatus();
  }
  const int64_t waited = metrics.epoch - since_;
  if (waited < options_.patience) return absl::OkStatus();
  if (!ReduceLearningRate(host, options_.factor, options_.min_lr)) return absl::OkStatus();
  since_ = metrics.epoch;
  host.Say(absl::StrFormat(
      "LRScheduler ReduceLROnPlateau: metric %s did not improve for %d epochs, setting learning "
      "rate to %.8f",
      options_.metric, waited, host.learning_rate()));
  return absl::OkStatus();
}

std::vector<double> ReduceLrOnPlateau::State() const { return {best_.value(), double(since_)}; }

absl::Status ReduceLrOnPlateau::Restore(std::span<const double> state) {
  DTNN_RETURN_IF_ERROR(CheckState(*this, state, 2));
  DTNN_ASSIGN_OR_RETURN(since_, EpochsInState(*this, state[1]));
  best_.set_value(state[0]);
  return absl::OkStatus();
}

}  // namespace dtnn
