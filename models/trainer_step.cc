// One training step of a trainer, and what is left of one that fails.

#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "models/trainer.h"
#include "tensor/status_macros.h"

namespace dtnn {

absl::Status Trainer::Step(const Batch& batch, Averages* averages, bool last) {
  if (training_plan_ == nullptr) {
    return absl::FailedPreconditionError("Trainer::Step was called before PrepareForTraining");
  }
  if (settled()) {
    first_samples_ = batch.global_count;
    DTNN_RETURN_IF_ERROR(Remember());
  }
  const absl::Status status = RunStep(batch, /*watched=*/averages != nullptr, last);
  if (!status.ok()) {
    DTNN_RETURN_IF_ERROR(Undo());
    return status;
  }
  if (averages == nullptr) return absl::OkStatus();
  return averages->Add(training_plan_->LossSum(), training_plan_->predictions(), batch.targets);
}

// A step whose loss is `watched` fails where that is no number.
absl::Status Trainer::RunStep(const Batch& batch, bool watched, bool last) {
  Plan::GradientsReady ready;
  if (options_.accumulate_steps == 1) {
    DTNN_RETURN_IF_ERROR(updater_->Begin(store_->gradients()));
    ready = [this](int64_t from) { updater_->Ready(from); };
  }
  DTNN_RETURN_IF_ERROR(training_plan_->ForwardBackward(
      batch.x, batch.targets, 1.0 / double(first_samples_), batches_done_, ready));
  const double loss = watched ? training_plan_->LossSum() : 0;
  if (!std::isfinite(loss)) return Diverged(batch, loss);
  statistics_differ_ = options_.communicator != nullptr && !exchange_;
  ++batches_done_;
  ++pending_batches_;
  pending_samples_ += batch.global_count;
  if (options_.accumulate_steps > 1) DTNN_RETURN_IF_ERROR(Accumulate());
  return last || pending_batches_ == options_.accumulate_steps ? Update() : absl::OkStatus();
}

// Where Undo goes back to.
absl::Status Trainer::Remember() {
  if (!options_.whole_steps) return absl::OkStatus();
  if (options_.accumulate_steps > 1) {
    settled_step_ = step_in_epoch_;
    settled_figures_ = trained_;
  }
  return SaveStatistics();
}

absl::Status Trainer::Undo() {
  if (!options_.whole_steps) return absl::OkStatus();
  if (options_.accumulate_steps > 1) {
    step_in_epoch_ = settled_step_;
    trained_ = settled_figures_;
  }
  pending_batches_ = pending_samples_ = 0;
  return RestoreStatistics();
}

absl::Status Trainer::SaveStatistics() {
  if (settled_statistics_.empty()) return absl::OkStatus();
  DTNN_RETURN_IF_ERROR(context_->Copy(store_->statistics(), settled_statistics_));
  return context_->Synchronize();
}

absl::Status Trainer::RestoreStatistics() {
  if (settled_statistics_.empty()) return absl::OkStatus();
  store_->MarkChanged();
  DTNN_RETURN_IF_ERROR(context_->Copy(settled_statistics_, store_->statistics()));
  return context_->Synchronize();
}

absl::Status Trainer::Accumulate() {
  const Tensor gradients = store_->gradients();
  return add_->Run({&gradients, 1}, accumulated_, /*accumulate=*/pending_batches_ > 1);
}

// One step of the optimizer with the gradients of the batches that wait.
absl::Status Trainer::Update() {
  if (options_.accumulate_steps > 1) DTNN_RETURN_IF_ERROR(updater_->Begin(accumulated_));
  DTNN_RETURN_IF_ERROR(
      updater_->Finish({.learning_rate = step_learning_rate(),
                        .step = steps_done_ + 1,
                        // 1 without accumulation.
                        .gradient_scale = double(first_samples_) / double(pending_samples_)}));
  ++steps_done_;
  pending_batches_ = pending_samples_ = 0;
  return absl::OkStatus();
}

// Why a run with such a loss ends, and where it went wrong.
absl::Status Trainer::Diverged(const Batch& batch, double loss) {
  if (exchange_) exchange_->Leave();  // the others may not look for anything
  DTNN_ASSIGN_OR_RETURN(const std::string where,
                        training_plan_->FirstNonFinite(batch.x, batch.targets, batches_done_));
  return absl::FailedPreconditionError(
      absl::StrCat("the loss is ", loss, " after ", steps_done_, " steps: training has diverged (",
                   where.empty() ? "all values before the loss are finite" : where,
                   "); lower the learning rate, now ", step_learning_rate()));
}

}  // namespace dtnn
