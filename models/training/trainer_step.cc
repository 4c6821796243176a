// One training step of a trainer, and what is left of one that fails.

#include <cmath>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "comm/model_sync.h"
#include "models/training/trainer.h"
#include "tensor/status_macros.h"

namespace dtnn {
namespace {

const Tensor& LossTargets(const Batch& batch) {
  return batch.mixed_targets.empty() ? batch.targets : batch.mixed_targets;
}

}  // namespace

absl::Status Trainer::Step(const Batch& batch, MetricAverages* averages, bool last) {
  if (training_plan_ == nullptr) {
    return absl::FailedPreconditionError("Trainer::Step was called before PrepareForTraining");
  }
  if (settled()) {
    sync_.BeginUpdate(steps_done_, step_in_epoch_);
    first_samples_ = SamplesOf(batch);
    DTNN_RETURN_IF_ERROR(Remember());
  }
  const absl::Status status = RunStep(batch, /*watched=*/averages != nullptr, last);
  if (!status.ok()) {
    DTNN_RETURN_IF_ERROR(Undo());
    return status;
  }
  if (averages != nullptr && batch.count > 0) {
    DTNN_RETURN_IF_ERROR(
        averages->Add(training_plan_->LossSum(), training_plan_->predictions(), batch.targets));
  }
  if (!settled()) return absl::OkStatus();
  const absl::Status synchronised = sync_.EndUpdate(*store_);
  if (!synchronised.ok()) ++step_in_epoch_;  // what failed came after this one
  return synchronised;
}

// What a batch adds to the number that gradients are divided by.
int64_t Trainer::SamplesOf(const Batch& batch) const {
  return sync_.means_of_ranks() ? batch.count : batch.global_count;
}

// A step whose loss is `watched` fails where that is no number.
absl::Status Trainer::RunStep(const Batch& batch, bool watched, bool last) {
  Plan::GradientsReady ready;
  if (options_.accumulate_steps == 1) {
    DTNN_RETURN_IF_ERROR(updater_->Begin(store_->gradients(), sync_.exchanges()));
    ready = [this](int64_t from) { updater_->Ready(from); };
  }
  if (batch.count == 0) {
    DTNN_RETURN_IF_ERROR(context_->FillZero(store_->gradients()));
  } else {
    DTNN_RETURN_IF_ERROR(training_plan_->ForwardBackward(batch.x, LossTargets(batch),
                                                         sync_.weight() / double(first_samples_),
                                                         batches_done_, ready));
    const double loss = watched ? training_plan_->LossSum() : 0;
    if (!std::isfinite(loss)) return Diverged(batch, loss);
  }
  ++batches_done_;
  ++pending_batches_;
  pending_samples_ += SamplesOf(batch);
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
  // 1 without accumulation.
  double scale = pending_samples_ == 0 ? 1 : double(first_samples_) / double(pending_samples_);
  if (options_.accumulate_steps > 1) {
    // Means of ranks are scaled before they are added up: each has its own number of samples.
    if (sync_.means_of_ranks()) Scale(std::exchange(scale, 1), accumulated_);
    DTNN_RETURN_IF_ERROR(updater_->Begin(accumulated_, sync_.exchanges()));
  }
  // Without samples of its own or of others, a rank stays where it is.
  if (pending_samples_ > 0 || sync_.exchanges()) {
    DTNN_RETURN_IF_ERROR(updater_->Finish(
        {.learning_rate = step_learning_rate(), .step = steps_done_ + 1, .gradient_scale = scale}));
  }
  ++steps_done_;
  pending_batches_ = pending_samples_ = 0;
  return absl::OkStatus();
}

// Why a run with such a loss ends, and where it went wrong.
absl::Status Trainer::Diverged(const Batch& batch, double loss) {
  diverged_ = true;
  if (exchange_) exchange_->Leave();  // the others may not look for anything
  DTNN_ASSIGN_OR_RETURN(const std::string where,
                        training_plan_->FirstNonFinite(batch.x, LossTargets(batch), batches_done_));
  return absl::OutOfRangeError(
      absl::StrCat("the loss is ", loss, " after ", steps_done_, " steps: training has diverged (",
                   where.empty() ? "all values before the loss are finite" : where,
                   "); lower the learning rate, now ", step_learning_rate()));
}

}  // namespace dtnn
