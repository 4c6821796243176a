#include "models/callbacks/stop_on_signal.h"

#include <algorithm>
#include <cstdint>

#include "tensor/status_macros.h"

namespace dtnn {

absl::Status StopOnSignal::StartExchange() {
  if (seen_.empty()) {
    DTNN_ASSIGN_OR_RETURN(seen_, Tensor::Zeros(DType::kInt32, Shape{1}));
  }
  seen_.data<int32_t>()[0] = 2 * interrupt_.signal() + (pause_ && pause_() ? 1 : 0);
  exchange_ = communicator_->AllReduceAsync(seen_, ReduceOp::kMax);
  return absl::OkStatus();
}

absl::Status StopOnSignal::FinishExchange() {
  DTNN_RETURN_IF_ERROR(exchange_->Wait());
  exchange_ = nullptr;
  const int seen = seen_.data<int32_t>()[0];
  signal_ = std::max(signal_, seen / 2);
  pauses_ |= seen % 2 != 0;
  return absl::OkStatus();
}

absl::Status StopOnSignal::OnBatchBegin(const Pass& pass) {
  if (communicator_ == nullptr || pass.kind != Pass::Kind::kTraining) return absl::OkStatus();
  return steps_ % every_ == 0 ? StartExchange() : absl::OkStatus();
}

absl::Status StopOnSignal::OnBatchEnd(const Pass& pass) {
  if (communicator_ == nullptr) {
    signal_ = interrupt_.signal();
  } else if (pass.kind == Pass::Kind::kTraining && ++steps_ % every_ == 0) {
    DTNN_RETURN_IF_ERROR(FinishExchange());
  }
  if ((signal_ == 0 && !pauses_) || !trainer_.engine().settled()) return absl::OkStatus();
  trainer_.Stop();
  paused_ = signal_ == 0;
  if (paused_) return absl::OkStatus();
  return checkpointer_ == nullptr ? absl::OkStatus() : checkpointer_->Save();
}

absl::Status StopOnSignal::Finish() {
  if (communicator_ == nullptr || signal_ != 0 || paused_) return absl::OkStatus();
  if (exchange_ != nullptr) DTNN_RETURN_IF_ERROR(FinishExchange());
  DTNN_RETURN_IF_ERROR(StartExchange());
  return FinishExchange();
}

}  // namespace dtnn
