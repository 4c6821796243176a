#include "models/training/step_engine.h"

#include <cmath>
#include <string>
#include <utility>

#include "comm/model_sync.h"
#include "kernels/transfers.h"
#include "tensor/errors.h"
#include "tensor/trace/observer.h"

namespace dtnn {
namespace {

const Tensor& LossTargets(const Batch& batch) {
  return batch.mixed_targets.empty() ? batch.targets : batch.mixed_targets;
}

}  // namespace

StepEngine::StepEngine(const Graph& graph, ParameterStore& store, DeviceContext& context,
                       const TrainerOptions& options)
    : graph_(graph),
      store_(&store),
      context_(&context),
      options_(options),
      learning_rate_(options.learning_rate),
      sync_(options.communicator, context,
            {.models = options.model_sync,
             .at_start = options.initial_model_sync,
             .at_end = options.final_model_sync,
             .common_statistics = options.sync_batch_norm}) {
  if (options.sync_batch_norm && options.communicator != nullptr) {
    exchange_.emplace(*options.communicator);
  }
}

absl::StatusOr<std::unique_ptr<StepEngine>> StepEngine::Create(const Graph& graph,
                                                               ParameterStore& store,
                                                               DeviceContext& context,
                                                               const TrainerOptions& options) {
  if (options.metric_set.loss == nullptr) {
    return absl::InvalidArgumentError("a trainer needs a loss");
  }
  if (options.accumulate_steps < 1 || !(options.clip_norm >= 0)) {
    return InvalidArgument(
        "a trainer accumulates over 1 batch or more, not ", options.accumulate_steps,
        ", and clips to a norm above 0 or not at all (0), not to ", options.clip_norm);
  }
  if (options.sync_batch_norm && options.model_sync.frequency != 0) {
    return absl::InvalidArgumentError(
        "synchronised batch normalisation needs all ranks in every step, but with periodic model "
        "averages ranks take steps on their own");
  }
  std::unique_ptr<StepEngine> engine(new StepEngine(graph, store, context, options));
  DTNN_RETURN_IF_ERROR(engine->sync_.Check());
  return engine;
}

absl::StatusOr<std::unique_ptr<Plan>> StepEngine::Compile(int64_t batch, bool training) {
  const int rank = options_.communicator == nullptr ? 0 : options_.communicator->rank();
  return Plan::Compile(graph_, *store_, *context_,
                       {.batch = batch,
                        .training = training,
                        .loss = options_.metric_set.loss.get(),
                        .conv_variant = options_.conv_variant,
                        .best_of = options_.best_of,
                        .random_seed = options_.random_seed + uint64_t(rank),
                        .fusions = options_.fusions,
                        .ranks = training && exchange_ ? &*exchange_ : nullptr});
}

// Everything but the plan, which depends on the batch.
absl::Status StepEngine::AllocateForTraining() {
  DTNN_RETURN_IF_ERROR(store_->AllocateForTraining(*context_, options_.optimizer->slots()));
  if (options_.accumulate_steps > 1) {
    DTNN_ASSIGN_OR_RETURN(add_, CreateAdd(*context_, {.dtype = store_->dtype()}));
    DTNN_ASSIGN_OR_RETURN(accumulated_, Tensor::Allocate(context_->device(), store_->dtype(),
                                                         store_->gradients().shape()));
  }
  if (options_.whole_steps && !store_->statistics().empty()) {
    DTNN_ASSIGN_OR_RETURN(settled_statistics_,
                          Tensor::Zeros(store_->dtype(), store_->statistics().shape()));
  }
  DTNN_RETURN_IF_ERROR(sync_.BeginTraining(*store_));
  DTNN_ASSIGN_OR_RETURN(updater_, Updater::Create(*store_, *context_, *options_.optimizer,
                                                  {.clip_norm = options_.clip_norm,
                                                   .whole_steps = options_.whole_steps,
                                                   .communicator = options_.communicator,
                                                   .reducer = options_.reducer,
                                                   .choose_buckets = options_.choose_buckets}));
  return absl::OkStatus();
}

absl::Status StepEngine::PrepareForTraining(int64_t max_batch) {
  if (options_.optimizer == nullptr) {
    return absl::InvalidArgumentError("training needs an optimizer");
  }
  if (updater_ == nullptr) DTNN_RETURN_IF_ERROR(AllocateForTraining());
  if (training_batch_ < max_batch) {
    DTNN_ASSIGN_OR_RETURN(training_plan_, Compile(max_batch, /*training=*/true));
    training_batch_ = max_batch;
  }
  return absl::OkStatus();
}

absl::Status StepEngine::PrepareForEvaluation(int64_t max_batch) {
  if (evaluation_batch_ < max_batch) {
    DTNN_ASSIGN_OR_RETURN(evaluation_plan_, Compile(max_batch, /*training=*/false));
    evaluation_batch_ = max_batch;
  }
  return absl::OkStatus();
}

void StepEngine::set_steps_done(int64_t steps) {
  steps_done_ = steps;
  pending_batches_ = pending_samples_ = 0;
}

void StepEngine::BeginPass(const RankShares& shares, int64_t step, int64_t first_batch) {
  sync_.set_shares(shares);
  step_ = step;
  first_batch_ = first_batch;
}

absl::Status StepEngine::Step(const Batch& batch, MetricAverages* averages, bool last) {
  if (training_plan_ == nullptr) {
    return absl::FailedPreconditionError("StepEngine::Step was called before PrepareForTraining");
  }
  const Span span({.activity = Activity::kStep, .samples = batch.count});
  if (settled()) {
    sync_.BeginUpdate(steps_done_, step_);
    first_samples_ = SamplesOf(batch);
    DTNN_RETURN_IF_ERROR(Remember(averages));
  }
  const absl::Status status = RunStep(batch, /*watched=*/averages != nullptr, last);
  if (!status.ok()) {
    DTNN_RETURN_IF_ERROR(Undo(averages));
    return status;
  }
  ++step_;
  if (averages != nullptr && batch.count > 0) {
    DTNN_RETURN_IF_ERROR(
        averages->Add(training_plan_->LossSum(), training_plan_->predictions(), batch.targets));
  }
  return settled() ? sync_.EndUpdate(*store_) : absl::OkStatus();
}

// What a batch adds to the number that gradients are divided by.
int64_t StepEngine::SamplesOf(const Batch& batch) const {
  return sync_.means_of_ranks() ? batch.count : batch.global_count;
}

// A step whose loss is `watched` fails where that is NaN or infinite.
absl::Status StepEngine::RunStep(const Batch& batch, bool watched, bool last) {
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
                                                         first_batch_ + step_, ready));
    const double loss = watched ? training_plan_->LossSum() : 0;
    if (!std::isfinite(loss)) return Diverged(batch, loss);
  }
  ++pending_batches_;
  pending_samples_ += SamplesOf(batch);
  if (options_.accumulate_steps > 1) DTNN_RETURN_IF_ERROR(Accumulate());
  return last || pending_batches_ == options_.accumulate_steps ? Update() : absl::OkStatus();
}

absl::Status StepEngine::Accumulate() {
  const Tensor gradients = store_->gradients();
  return add_->Run({&gradients, 1}, accumulated_, /*accumulate=*/pending_batches_ > 1);
}

// One step of the optimizer with the gradients of the batches that wait.
absl::Status StepEngine::Update() {
  // 1 without accumulation.
  double scale = pending_samples_ == 0 ? 1 : double(first_samples_) / double(pending_samples_);
  if (options_.accumulate_steps > 1) {
    // Means of ranks are scaled before they are added up: each has its own number of samples.
    if (sync_.means_of_ranks()) {
      DTNN_RETURN_IF_ERROR(ChangeOnHost(*context_, accumulated_, [&](const Tensor& gradients) {
        Scale(std::exchange(scale, 1), gradients);
        return absl::OkStatus();
      }));
    }
    DTNN_RETURN_IF_ERROR(updater_->Begin(accumulated_, sync_.exchanges()));
  }
  // Without samples of its own or of others, a rank stays where it is.
  if (pending_samples_ > 0 || sync_.exchanges()) {
    DTNN_RETURN_IF_ERROR(updater_->Finish(
        {.learning_rate = learning_rate_, .step = steps_done_ + 1, .gradient_scale = scale}));
  }
  ++steps_done_;
  pending_batches_ = pending_samples_ = 0;
  return absl::OkStatus();
}

// Why a run with such a loss ends, and where it went wrong.
absl::Status StepEngine::Diverged(const Batch& batch, double loss) {
  if (exchange_) exchange_->Leave();  // the others may not look for anything
  absl::StatusOr<std::string> where =
      training_plan_->FirstNonFinite(batch.x, LossTargets(batch), first_batch_ + step_);
  if (!where.ok()) where = std::string(where.status().message());
  return absl::OutOfRangeError(
      StrCat("the loss is ", loss, " after ", steps_done_, " steps: training has diverged (",
             where->empty() ? "all values before the loss are finite" : *where,
             "); lower the learning rate, now ", learning_rate_,
             context_->math_mode() == MathMode::kFp16
                 ? "; float16 ends at 65504, and --math-mode=bf16 has the range of float32"
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
             learning_rate_, ", or use --math-mode=bf16, which has the range of float32"));
}

// Where Undo goes back to.
absl::Status StepEngine::Remember(const MetricAverages* averages) {
  if (!options_.whole_steps) return absl::OkStatus();
  if (options_.accumulate_steps > 1) {
    settled_step_ = step_;
    if (averages != nullptr) settled_averages_ = *averages;
  }
  if (settled_statistics_.empty()) return absl::OkStatus();
  DTNN_RETURN_IF_ERROR(context_->Copy(store_->statistics(), settled_statistics_));
  return context_->Synchronize();
}

absl::Status StepEngine::Undo(MetricAverages* averages) {
  if (!options_.whole_steps) return absl::OkStatus();
  if (options_.accumulate_steps > 1) {
    step_ = settled_step_;
    if (averages != nullptr) *averages = settled_averages_;
  }
  pending_batches_ = pending_samples_ = 0;
  if (settled_statistics_.empty()) return absl::OkStatus();
  store_->MarkChanged();
  DTNN_RETURN_IF_ERROR(context_->Copy(settled_statistics_, store_->statistics()));
  return context_->Synchronize();
}

absl::Status StepEngine::Evaluate(const Batch& batch, std::string_view data,
                                  MetricAverages& averages) {
  if (evaluation_plan_ == nullptr) {
    return absl::FailedPreconditionError(
        "StepEngine::Evaluate was called before PrepareForEvaluation");
  }
  const Span span({.activity = Activity::kEvaluate, .samples = batch.count});
  DTNN_RETURN_IF_ERROR(evaluation_plan_->Evaluate(batch.x, batch.targets));
  const double loss = evaluation_plan_->LossSum();
  if (!std::isfinite(loss)) {
    return absl::OutOfRangeError(StrCat(
        "the loss is ", loss, " in ", data, " after ", steps_done_,
        " steps: the parameters are unusable; lower the learning rate, now ", learning_rate_));
  }
  return averages.Add(loss, evaluation_plan_->predictions(), batch.targets);
}

}  // namespace dtnn
