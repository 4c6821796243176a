#include "models/training/step_engine.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "comm/model_sync.h"
#include "kernels/device/device_traits.h"
#include "kernels/transfers/transfers.h"
#include "models/training/check_outputs.h"
#include "tensor/errors.h"
#include "tensor/trace/observer.h"

namespace dtnn {
namespace {

const Tensor& LossTargets(const Batch& batch) {
  return batch.mixed_targets.empty() ? batch.targets : batch.mixed_targets;
}

PlanInput InputOf(const Batch& batch) { return {batch.x, batch.changes, batch.bytes}; }

std::string ReasonNotToCapture(const DeviceContext& context, const TrainerOptions& options) {
  if (!options.graphs) return "they are switched off";
  if (!TraitsOf(context.device()).replays_work) return "the device runs every call at once";
  if (options.communicator != nullptr) return "ranks exchange gradients in the middle of a step";
  return "";
}

// For what ranks draw each for itself. Seeds of neighbouring runs do not meet: those of ranks are
// far apart (2^64 over the golden ratio, an odd number). Rank 0's is that of the run.
uint64_t SeedOfRank(uint64_t seed, int rank) { return seed + 0x9e3779b97f4a7c15 * uint64_t(rank); }

// Whether samples can be protected so.
absl::Status CheckPrivateTraining(const Graph& graph, const TrainerOptions& options) {
  DTNN_RETURN_IF_ERROR(PrivateGradients::Check(options.privacy, graph));
  if (options.communicator != nullptr && options.communicator->size() > 1) {
    return absl::InvalidArgumentError(
        "differential privacy of samples is for one rank: gradients that ranks send each other "
        "would have no noise yet");
  }
  if (options.common_metrics) {
    return absl::InvalidArgumentError(
        "differential privacy of samples: not with metrics that are common in every step");
  }
  if (options.accumulate_steps == 1) return absl::OkStatus();
  return InvalidArgument(
      "differential privacy of samples: each batch is an update, so not with ",
      options.accumulate_steps,
      " batches per update; a larger batch takes no more memory for activations");
}

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
             .common_statistics = options.sync_batch_norm,
             .sum = options.reducer.sum}),
      average_(store, context),
      late_(TraitsOf(context.device()).replays_work && !options.common_metrics),
      graphs_(context, ReasonNotToCapture(context, options)) {
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
  DTNN_RETURN_IF_ERROR(CheckOutputs(graph, *options.metric_set.loss));
  if (options.accumulate_steps < 1 || !(options.clip_norm >= 0)) {
    return InvalidArgument(
        "a trainer accumulates over 1 batch or more, not ", options.accumulate_steps,
        ", and clips to a norm above 0 or not at all (0), not to ", options.clip_norm);
  }
  if (options.privacy.enabled()) DTNN_RETURN_IF_ERROR(CheckPrivateTraining(graph, options));
  if (options.common_metrics && !options.whole_steps) {
    return absl::InvalidArgumentError("metrics that are common in every step need whole steps");
  }
  if (options.sync_batch_norm && options.model_sync.frequency != 0) {
    return absl::InvalidArgumentError(
        "synchronised batch normalisation needs all ranks in every step, but with periodic model "
        "averages ranks take steps on their own");
  }
  const GradientReducerOptions& reducer = options.reducer;
  if (reducer.sum && (reducer.wire || reducer.collectives != nullptr || options.sync_batch_norm)) {
    return absl::InvalidArgumentError(
        "another sum over the ranks takes gradients as they are, on the host, and no statistics of "
        "single batches: not with 16 bits on the wire, sums on devices or synchronised batch "
        "normalisation");
  }
  if (options.optimizer != nullptr && options.optimizer->sparse_sum() &&
      options.model_sync.frequency != 0) {
    return InvalidArgument("optimizer ", options.optimizer->name(),
                           " sums what is largest in the gradients of all ranks in every step, but "
                           "with periodic model averages ranks take steps on their own");
  }
  if (options.optimizer != nullptr && options.optimizer->average_slot() &&
      options.model_sync.frequency != 0) {
    return absl::InvalidArgumentError(
        "an average of the parameters needs the same ones on all ranks, but with periodic model "
        "averages ranks take steps on their own");
  }
  std::unique_ptr<StepEngine> engine(new StepEngine(graph, store, context, options));
  DTNN_RETURN_IF_ERROR(engine->sync_.Check());
  return engine;
}

absl::StatusOr<std::unique_ptr<Plan>> StepEngine::Compile(int64_t batch, bool training,
                                                          ParameterStore& store,
                                                          DeviceContext& context) {
  const int rank = options_.communicator == nullptr ? 0 : options_.communicator->rank();
  return Plan::Compile(
      graph_, store, context,
      {.batch = batch,
       .training = training,
       .loss = training && options_.training_loss != nullptr ? options_.training_loss.get()
                                                             : options_.metric_set.loss.get(),
       .conv_variant = options_.conv_variant,
       .best_of = options_.best_of,
       .random_seed = SeedOfRank(options_.random_seed, rank),
       .fusions = options_.fusions,
       .ranks = training && exchange_ ? &*exchange_ : nullptr,
       .skips_zero_gradients = !options_.reducer.sum && !options_.privacy.enabled(),
       // Which plans of several threads cannot share.
       .workspaces = options_.keep_workspaces || (training && options_.privacy.enabled())
                         ? nullptr
                         : &workspace_use_});
}

// Everything but the plan, which depends on the batch.
absl::Status StepEngine::AllocateForTraining() {
  DTNN_RETURN_IF_ERROR(store_->AllocateForTraining(*context_, options_.optimizer->slots(),
                                                   options_.optimizer->average_slot()));
  if (options_.accumulate_steps > 1) {
    DTNN_ASSIGN_OR_RETURN(add_, CreateAdd(*context_, {.dtype = store_->dtype()}));
    DTNN_ASSIGN_OR_RETURN(accumulated_, Tensor::Allocate(context_->device(), store_->dtype(),
                                                         store_->gradients().shape()));
  }
  if (options_.whole_steps && !store_->statistics().empty()) {
    DTNN_ASSIGN_OR_RETURN(settled_statistics_, Tensor::Allocate(context_->device(), store_->dtype(),
                                                                store_->statistics().shape()));
  }
  DTNN_RETURN_IF_ERROR(sync_.BeginTraining(*store_));
  DTNN_ASSIGN_OR_RETURN(updater_, Updater::Create(*store_, *context_, *options_.optimizer,
                                                  {.clip_norm = options_.clip_norm,
                                                   .whole_steps = options_.whole_steps,
                                                   .communicator = options_.communicator,
                                                   .reducer = options_.reducer,
                                                   .watches_losses = late_,
                                                   .choose_buckets = options_.choose_buckets}));
  return absl::OkStatus();
}

absl::Status StepEngine::PrepareForTraining(int64_t max_batch) {
  if (options_.optimizer == nullptr) {
    return absl::InvalidArgumentError("training needs an optimizer");
  }
  if (updater_ == nullptr) DTNN_RETURN_IF_ERROR(AllocateForTraining());
  if (training_batch_ < max_batch) {
    graphs_.Clear();
    private_.reset();
    const int64_t samples = options_.privacy.enabled() ? 1 : max_batch;
    DTNN_ASSIGN_OR_RETURN(training_plan_, Compile(samples, /*training=*/true, *store_, *context_));
    training_batch_ = 0;
    if (options_.privacy.enabled()) {
      const auto compile = [this](ParameterStore& store, DeviceContext& context) {
        return Compile(1, /*training=*/true, store, context);
      };
      DTNN_ASSIGN_OR_RETURN(private_,
                            PrivateSteps::Create(options_.privacy, graph_, *store_, *context_,
                                                 *training_plan_, max_batch, compile));
    }
    training_batch_ = max_batch;
    if (!late_) return absl::OkStatus();
    std::vector<LateReads::Kind> results = {
        {store_->dtype(), Shape{max_batch}},
        {store_->dtype(), graph_.output_shape().Prepend(max_batch)}};
    if (options_.clip_norm > 0) results.push_back({DType::kFloat64, Shape{1}});
    DTNN_ASSIGN_OR_RETURN(late_reads_, LateReads::Create(*context_, results, waiting_.size()));
  }
  return absl::OkStatus();
}

absl::Status StepEngine::PrepareForEvaluation(int64_t max_batch) {
  if (evaluation_batch_ < max_batch) {
    DTNN_ASSIGN_OR_RETURN(evaluation_plan_,
                          Compile(max_batch, /*training=*/false, *store_, *context_));
    evaluation_batch_ = max_batch;
  }
  return absl::OkStatus();
}

void StepEngine::set_steps_done(int64_t steps) {
  steps_done_ = steps;
  pending_batches_ = pending_samples_ = 0;
  average_.Restored(steps);
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
    gradient_norm_ = *norm.data<double>();
  }
  return settled() ? sync_.EndUpdate(*store_) : absl::OkStatus();
}

// The results of a step.
absl::Status StepEngine::AddTo(MetricAverages& averages, const Batch& batch) {
  if (private_ != nullptr) {
    return averages.Add(private_->LossSum(), private_->predictions(), batch.targets);
  }
  return averages.Add(training_plan_->LossSum(), training_plan_->predictions(), batch.targets);
}

std::optional<double> StepEngine::epsilon() const {
  return options_.privacy.enabled() ? std::optional(spent_.Epsilon(options_.privacy.delta))
                                    : std::nullopt;
}

// What a batch adds to the number that gradients are divided by.
int64_t StepEngine::SamplesOf(const Batch& batch) const {
  return sync_.means_of_ranks() ? batch.count : batch.global_count;
}

// With differential privacy for each sample. A batch without samples is a step like others, and a
// loss that is not finite ends nothing: that would tell of a single sample.
absl::Status StepEngine::RunPrivateStep(const Batch& batch) {
  if (private_ == nullptr || sampling_.probability == 0) {
    return absl::FailedPreconditionError(
        "differential privacy of samples: StepEngine::Step was called before PrepareForTraining "
        "has succeeded, or before SetSampling");
  }
  DTNN_RETURN_IF_ERROR(updater_->Begin(store_->gradients(), sync_.exchanges()));
  DTNN_RETURN_IF_ERROR(
      updater_->SetStep({.learning_rate = learning_rate_, .step = steps_done_ + 1}));
  DTNN_RETURN_IF_ERROR(private_->Run(batch, sampling_.mean));
  spent_.Add(sampling_.probability, options_.privacy.noise);
  DTNN_RETURN_IF_ERROR(updater_->Finish());
  ++steps_done_;
  return absl::OkStatus();
}

absl::Status StepEngine::SetSampling(double probability, double mean) {
  if (!(probability > 0 && probability <= 1) || !(mean > 0 && std::isfinite(mean))) {
    return InvalidArgument("steps that take a sample with probability ", probability, ", and ",
                           mean,
                           " samples on average: expected a probability above 0 and up to 1, and a "
                           "mean above 0");
  }
  sampling_ = {probability, mean};
  return absl::OkStatus();
}

bool StepEngine::RestorePrivacySpent(const std::vector<double>& spent) {
  federation::RenyiAccountant accountant;
  if (!std::ranges::all_of(spent, [](double x) { return x >= 0; })) return false;
  if (!spent.empty() && !accountant.Restore(spent)) return false;
  spent_ = accountant;
  return true;
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

absl::StatusOr<double> StepEngine::LossSum() {
  if (private_ != nullptr) return private_->LossSum();
  DTNN_RETURN_IF_ERROR(training_plan_->FetchResults());
  return training_plan_->LossSum();
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
  if (waiting.updated && results.size() > 2) gradient_norm_ = *results[2].data<double>();
  return averages.Add(loss, results[1], waiting.targets);
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
  late_reads_.Drop();
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
