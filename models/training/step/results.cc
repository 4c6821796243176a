#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "models/training/step/batch_input.h"
#include "models/training/step/step_engine.h"
#include "tensor/errors.h"
#include "tensor/trace/observer.h"

namespace dtnn {
namespace {

// In memory of its own, which is kept.
absl::Status CopyTargets(const Tensor& from, Tensor& to) {
  const size_t bytes = size_t(from.num_elements()) * SizeOf(from.dtype());
  if (to.empty() || to.buffer()->size() < bytes) {
    DTNN_ASSIGN_OR_RETURN(to, Tensor::Allocate(Device::Cpu(), from.dtype(), from.shape()));
  }
  to = Tensor::View(to.buffer(), 0, from.dtype(), from.shape());
  std::memcpy(to.raw_data(), from.raw_data(), bytes);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<double> StepEngine::LossSum() {
  if (private_ != nullptr) return private_->LossSum();
  DTNN_RETURN_IF_ERROR(training_plan_->FetchResults());
  return training_plan_->LossSum();
}

// The results of a step.
absl::Status StepEngine::AddTo(MetricAverages& averages, const Batch& batch) {
  if (private_ != nullptr) {
    return averages.Add(private_->LossSum(), private_->predictions(), batch.targets);
  }
  return averages.Add(training_plan_->LossSum(), training_plan_->predictions(), batch.targets);
}

absl::Status StepEngine::CheckLoss(const Batch& batch) {
  DTNN_RETURN_IF_ERROR(training_plan_->FetchResults());
  const double loss = training_plan_->LossSum();
  if (std::isfinite(loss)) return absl::OkStatus();
  return Diverged(loss, steps_done_, learning_rate_, WhereNotFinite(batch));
}

// Queues the reading of a step's results.
absl::Status StepEngine::ReadLater(const Batch& batch) {
  newest_ = (newest_ + 1) % waiting_.size();
  Waiting& waiting = waiting_[newest_];
  DTNN_RETURN_IF_ERROR(CopyTargets(batch.targets, waiting.targets));
  waiting.updated = settled();
  waiting.steps_done = steps_done_ - (waiting.updated ? 1 : 0);
  waiting.learning_rate = learning_rate_;
  std::vector<Tensor> results = {training_plan_->device_losses(),
                                 training_plan_->device_predictions()};
  if (const Tensor norm = updater_->gradient_norm(); !norm.empty()) results.push_back(norm);
  return late_reads_.Add(results);
}

// Adds the results of the oldest step that waits. `batch`, where it is not null, has come after it.
absl::Status StepEngine::ReadOldest(const Batch* batch, MetricAverages& averages) {
  const Waiting& waiting =
      waiting_[(newest_ + waiting_.size() + 1 - late_reads_.waiting()) % waiting_.size()];
  DTNN_ASSIGN_OR_RETURN(const std::span<const Tensor> results, late_reads_.Take());
  const double loss = Plan::SumOfLosses(results[0]);
  if (!std::isfinite(loss)) {
    late_reads_.Drop();
    DTNN_RETURN_IF_ERROR(updater_->Resume());
    // The batch is gone, but the parameters are still those that it met.
    const std::string where = batch == nullptr ? "" : WhereNotFinite(*batch);
    return Diverged(loss, waiting.steps_done, waiting.learning_rate,
                    batch == nullptr
                        ? "noticed after its batch was gone"
                        : StrCat("noticed a step later; with the next batch: ", where));
  }
  if (waiting.updated && results.size() > 2) AddGradientNorm(*results[2].data<double>());
  DTNN_RETURN_IF_ERROR(averages.Add(loss, results[1], waiting.targets));
  // The update was remembered before these results were known.
  if (options_.whole_steps && options_.accumulate_steps > 1 && waiting.steps_done < steps_done_) {
    settled_averages_ = averages;
  }
  return absl::OkStatus();
}

absl::Status StepEngine::CatchUp(MetricAverages& averages) {
  while (late_reads_.waiting() > 0) DTNN_RETURN_IF_ERROR(ReadOldest(nullptr, averages));
  return absl::OkStatus();
}

absl::StatusOr<std::optional<double>> StepEngine::MeasureGradientNorm() const {
  if (gradient_norm_ || updater_ == nullptr) return gradient_norm_;
  return updater_->MeasureGradientNorm();
}

absl::Status StepEngine::Combine(MetricAverages& averages) const {
  if (options_.communicator == nullptr) return absl::OkStatus();
  std::vector<double> values = averages.ToDoubles();
  DTNN_ASSIGN_OR_RETURN(Tensor sums, Tensor::Zeros(DType::kFloat64, Shape{int64_t(values.size())}));
  std::memcpy(sums.raw_data(), values.data(), values.size() * sizeof(double));
  DTNN_RETURN_IF_ERROR(options_.communicator->AllReduce(sums));
  std::memcpy(values.data(), sums.raw_data(), values.size() * sizeof(double));
  averages.FromDoubles(values);
  return absl::OkStatus();
}

// What of a forward pass is NaN or infinite, for people.
std::string StepEngine::WhereNotFinite(const Batch& batch) {
  if (exchange_) exchange_->Leave();  // the others may not look for anything
  const absl::StatusOr<std::string> where =
      training_plan_->FirstNonFinite(InputOf(batch), LossTargets(batch), first_batch_ + step_);
  if (!where.ok()) return std::string(where.status().message());
  return where->empty() ? "all values before the loss are finite" : *where;
}

// Why a run with such a loss ends, and where it went wrong.
absl::Status StepEngine::Diverged(double loss, int64_t steps_done, double learning_rate,
                                  std::string_view where) const {
  return absl::OutOfRangeError(
      StrCat("the loss is ", loss, " after ", steps_done, " steps: training has diverged (", where,
             "); lower the learning rate, now ", learning_rate,
             context_->math_mode() == MathMode::kFp16
                 ? "; float16 ends at 65504, and bfloat16 has the range of float32"
                 : ""));
}

absl::Status StepEngine::CheckLossScale() const {
  if (store_->loss_scale() == nullptr) return absl::OkStatus();
  constexpr float kHopeless = 0x1p-14f;  // 30 steps after the first scale, if none is good
  DTNN_ASSIGN_OR_RETURN(const LossScaleState state, store_->loss_scale()->Read());
  if (state.scale > kHopeless) return absl::OkStatus();
  return absl::OutOfRangeError(
      StrCat("gradients in float16 are NaN or infinite at every scale of the loss down to ",
             state.scale, " (", state.skipped_steps, " of ", steps_done_,
             " updates were skipped): training has diverged; lower the learning rate, now ",
             learning_rate_, ", or use bfloat16, which has the range of float32"));
}

absl::Status StepEngine::Evaluate(const Batch& batch, std::string_view data,
                                  MetricAverages& averages) {
  if (evaluation_plan_ == nullptr) {
    return absl::FailedPreconditionError(
        "StepEngine::Evaluate was called before PrepareForEvaluation");
  }
  DTNN_RETURN_IF_ERROR(ShowAverage());
  const Span span({.activity = Activity::kEvaluate, .samples = batch.count});
  DTNN_RETURN_IF_ERROR(evaluation_plan_->Evaluate(InputOf(batch), batch.targets));
  const double loss = evaluation_plan_->LossSum();
  if (!std::isfinite(loss)) {
    const absl::StatusOr<std::string> where =
        evaluation_plan_->FirstNonFinite(InputOf(batch), batch.targets, /*step=*/0);
    const std::string text =
        StrCat("the loss is ", loss, " in ", data, " after ", steps_done_, " steps");
    if (where.ok() && where->starts_with("the batch: ")) {  // no other rate would mend the data
      return absl::DataLossError(
          StrCat(text, ": ", *where, "; its samples must be finite: mend the data set"));
    }
    return absl::OutOfRangeError(StrCat(
        text, ": the parameters are unusable; lower the learning rate, now ", learning_rate_));
  }
  return averages.Add(loss, evaluation_plan_->predictions(), batch.targets);
}

}  // namespace dtnn
