#include "optim/schedulers/model_checkpoint.h"

#include "tensor/status_macros.h"
#include "tensor/text/str_cat.h"

namespace dtnn {

ModelCheckpoint::ModelCheckpoint(const ModelCheckpointOptions& options)
    : options_(options), best_(options.better) {}

absl::Status ModelCheckpoint::OnEpochEnd(const EpochMetrics& metrics, SchedulerHost& host) {
  DTNN_ASSIGN_OR_RETURN(const double value, WatchedValue(*this, metrics));
  if (best_.Improve(value)) {
    pending_epoch_ = metrics.epoch;
    DTNN_RETURN_IF_ERROR(host.KeepParameters());
  }
  return metrics.epoch % options_.save_freq == 0 ? SavePending(host) : absl::OkStatus();
}

absl::Status ModelCheckpoint::SavePending(SchedulerHost& host) {
  if (pending_epoch_ == 0) return absl::OkStatus();
  DTNN_ASSIGN_OR_RETURN(const std::string file, host.SaveParameters(pending_epoch_));
  pending_epoch_ = 0;
  host.Say(StrCat("LRScheduler ModelCheckpoint: saving model weights and bias in ", file));
  return absl::OkStatus();
}

std::vector<double> ModelCheckpoint::State() const {
  return {best_.value(), double(pending_epoch_)};
}

absl::Status ModelCheckpoint::Restore(std::span<const double> state) {
  DTNN_RETURN_IF_ERROR(CheckState(*this, state, 2));
  DTNN_ASSIGN_OR_RETURN(pending_epoch_, EpochsInState(*this, state[1]));
  best_.set_value(state[0]);
  return absl::OkStatus();
}

}  // namespace dtnn
