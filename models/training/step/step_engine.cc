#include "models/training/step/step_engine.h"

#include "comm/model_sync.h"
#include "kernels/transfers/transfers.h"
#include "models/training/step/batch_input.h"
#include "tensor/errors.h"
#include "tensor/trace/observer.h"

namespace dtnn {

void StepEngine::set_steps_done(int64_t steps) {
  steps_done_ = steps;
  pending_batches_ = pending_samples_ = 0;
  late_reads_.Drop();
  average_.Restored(steps);
}

void StepEngine::BeginPass(const RankShares& shares, int64_t step, int64_t first_batch) {
  sync_.set_shares(shares);
  step_ = step;
  first_batch_ = first_batch;
  if (step > 0) return;  // the pass continues
  norm_sum_ = 0;
  norms_ = 0;
}

absl::Status StepEngine::Step(const Batch& batch, MetricAverages* averages, bool last) {
  if (training_plan_ == nullptr) {
    return absl::FailedPreconditionError("StepEngine::Step was called before PrepareForTraining");
  }
  DTNN_RETURN_IF_ERROR(average_.BeginStep(steps_done_));
  const Span span({.activity = Activity::kStep, .samples = batch.count});
  if (settled()) {
    sync_.BeginUpdate(steps_done_, step_);
    first_samples_ = SamplesOf(batch);
    DTNN_RETURN_IF_ERROR(Remember(averages));
    if (options_.common_metrics) update_averages_ = NewAverages();
  }
  const absl::Status status = RunStep(batch, /*watched=*/averages != nullptr, last);
  if (!status.ok()) {
    DTNN_RETURN_IF_ERROR(Undo(averages));
    return status;
  }
  ++step_;
  if (options_.common_metrics) {
    if (averages != nullptr && settled()) averages->Add(update_averages_);
  } else if (averages != nullptr && batch.count > 0) {
    if (late_) {
      DTNN_RETURN_IF_ERROR(ReadLater(batch));
      if (late_reads_.waiting() > 1) DTNN_RETURN_IF_ERROR(ReadOldest(&batch, *averages));
    } else {
      DTNN_RETURN_IF_ERROR(AddTo(*averages, batch));
    }
  }
  if (const Tensor norm = updater_->gradient_norm(); !late_ && settled() && !norm.empty()) {
    AddGradientNorm(*norm.data<double>());
  }
  return settled() ? sync_.EndUpdate(*store_) : absl::OkStatus();
}

void StepEngine::AddGradientNorm(double norm) {
  gradient_norm_ = norm;
  norm_sum_ += norm;
  ++norms_;
}

// What a batch adds to the number that gradients are divided by.
int64_t StepEngine::SamplesOf(const Batch& batch) const {
  return sync_.means_of_ranks() ? batch.count : batch.global_count;
}

// A step whose loss is `watched` fails where that is NaN or infinite.
absl::Status StepEngine::RunStep(const Batch& batch, bool watched, bool last) {
  if (options_.privacy.enabled()) return RunPrivateStep(batch);
  Plan::GradientsReady ready;
  if (options_.accumulate_steps == 1) {
    DTNN_RETURN_IF_ERROR(updater_->Begin(store_->gradients(), sync_.exchanges()));
    ready = [this](int64_t from) { updater_->Ready(from); };
  }
  const Tensor& targets = LossTargets(batch);
  const StepGraphs::Kind kind = {
      .samples = batch.count,
      .targets = targets.empty() ? DType::kInt32 : targets.dtype(),
      .gradient_scale = sync_.weight() / double(first_samples_),
      .first = pending_batches_ == 0,
      .updates = last || pending_batches_ + 1 == options_.accumulate_steps,
      .watched = watched};
  const int64_t samples = pending_samples_ + SamplesOf(batch);
  if (kind.updates) {
    // 1 without accumulation. Means of ranks are scaled by themselves.
    const bool scales = samples > 0 && !sync_.means_of_ranks();
    DTNN_RETURN_IF_ERROR(updater_->SetStep(
        {.learning_rate = learning_rate_,
         .step = steps_done_ + 1,
         .gradient_scale = scales ? double(first_samples_) / double(samples) : 1}));
  }
  if (batch.count > 0) {
    DTNN_RETURN_IF_ERROR(training_plan_->BringBatch(InputOf(batch), targets, first_batch_ + step_));
  }
  const auto work = [&] { return RunOnDevice(batch, kind, ready); };
  pending_samples_ = samples;
  const absl::Status status = batch.count > 0 ? graphs_.Run(kind, work) : work();
  if (!status.ok()) {
    pending_samples_ -= SamplesOf(batch);
    return status;
  }
  if (late_) store_->MarkChanged();  // a replay calls nobody who would
  ++pending_batches_;
  if (!kind.updates) return absl::OkStatus();
  ++steps_done_;
  pending_batches_ = pending_samples_ = 0;
  return absl::OkStatus();
}

// What may be captured: all that does not depend on the host. `pending_samples_` counts the batch.
absl::Status StepEngine::RunOnDevice(const Batch& batch, const StepGraphs::Kind& kind,
                                     const Plan::GradientsReady& ready) {
  if (batch.count == 0) {
    DTNN_RETURN_IF_ERROR(context_->FillZero(store_->gradients()));
  } else {
    DTNN_RETURN_IF_ERROR(training_plan_->RunForwardBackward(kind.gradient_scale, ready));
    if (kind.watched && late_) {
      DTNN_RETURN_IF_ERROR(updater_->Watch(training_plan_->device_losses()));
    } else if (kind.watched) {
      DTNN_RETURN_IF_ERROR(CheckLoss(batch));
      if (options_.common_metrics) {
        DTNN_RETURN_IF_ERROR(AddTo(update_averages_, batch));
      }
    }
  }
  if (options_.accumulate_steps > 1) {
    const Tensor gradients = store_->gradients();
    DTNN_RETURN_IF_ERROR(add_->Run({&gradients, 1}, accumulated_, /*accumulate=*/!kind.first));
  }
  return kind.updates ? Update() : absl::OkStatus();
}

// One step of the optimizer with the gradients of the batches that wait.
absl::Status StepEngine::Update() {
  if (options_.accumulate_steps > 1) {
    // Means of ranks are scaled before they are added up: each has its own number of samples.
    if (sync_.means_of_ranks()) {
      const double scale =
          pending_samples_ == 0 ? 1 : double(first_samples_) / double(pending_samples_);
      DTNN_RETURN_IF_ERROR(ChangeOnHost(*context_, accumulated_, [&](const Tensor& gradients) {
        Scale(scale, gradients);
        return absl::OkStatus();
      }));
    }
    DTNN_RETURN_IF_ERROR(updater_->Begin(accumulated_, sync_.exchanges()));
  }
  // Without samples of its own or of others, a rank stays where it is.
  if (pending_samples_ == 0 && !sync_.exchanges()) return absl::OkStatus();
  if (!options_.common_metrics) return updater_->Finish();
  return updater_->Finish([this] { return Combine(update_averages_); });
}

// Where Undo goes back to.
absl::Status StepEngine::Remember(const MetricAverages* averages) {
  if (!options_.whole_steps) return absl::OkStatus();
  if (options_.accumulate_steps > 1) {
    settled_step_ = step_;
    if (averages != nullptr) settled_averages_ = *averages;
  }
  if (settled_statistics_.empty()) return absl::OkStatus();
  return context_->Copy(store_->statistics(), settled_statistics_);
}

absl::Status StepEngine::Undo(MetricAverages* averages) {
  if (!options_.whole_steps) return absl::OkStatus();
  if (options_.accumulate_steps > 1) {
    step_ = settled_step_;
    if (averages != nullptr) *averages = settled_averages_;
  }
  pending_batches_ = pending_samples_ = 0;
  // What waits is of this update, or of the one before, which stands.
  if (waiting_[newest_].steps_done == steps_done_) late_reads_.Drop();
  if (settled_statistics_.empty()) return absl::OkStatus();
  store_->MarkChanged();
  DTNN_RETURN_IF_ERROR(context_->Copy(settled_statistics_, store_->statistics()));
  return context_->Synchronize();
}

}  // namespace dtnn
