#include "models/callbacks/epoch_ends.h"

#include "tensor/status_macros.h"

namespace dtnn {

absl::StatusOr<TrainingState> EpochEnds::Now() const {
  DTNN_ASSIGN_OR_RETURN(TrainingState state, trainer_.StateAlone());
  schedule_.AddTo(state);
  return state;
}

absl::Status EpochEnds::OnPassBegin(const Pass& pass) {
  if (pass.kind != Pass::Kind::kTraining) return absl::OkStatus();
  ending_ = false;
  pass_ = &pass;
  return absl::OkStatus();
}

absl::Status EpochEnds::OnPassEnd(const Pass& pass) {
  if (pass.kind != Pass::Kind::kTraining) return absl::OkStatus();
  DTNN_ASSIGN_OR_RETURN(before_end_, Now());
  return absl::OkStatus();
}

absl::Status EpochEnds::OnEpochEnd(const Pass&, const Pass*) {
  ending_ = true;
  return absl::OkStatus();
}

absl::StatusOr<TrainingState> EpochEnds::State() const {
  // With the parameters of an earlier epoch, this one cannot be ended again.
  if (ending_ && !schedule_.restored()) return before_end_;
  return Now();
}

}  // namespace dtnn
