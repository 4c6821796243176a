#include "models/trainer.h"

#include <cmath>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "comm/model_sync.h"
#include "tensor/status_macros.h"

namespace dtnn {

Trainer::Trainer(const Graph& graph, ParameterStore& store, DeviceContext& context,
                 const TrainerOptions& options)
    : graph_(graph),
      store_(&store),
      context_(&context),
      options_(options),
      learning_rate_(options.learning_rate) {
  if (options.sync_batch_norm && options.communicator != nullptr) {
    exchange_.emplace(*options.communicator);
  }
}

absl::StatusOr<std::unique_ptr<Trainer>> Trainer::Create(const Graph& graph, ParameterStore& store,
                                                         DeviceContext& context,
                                                         const TrainerOptions& options) {
  if (options.figures.loss == nullptr) {
    return absl::InvalidArgumentError("a trainer needs a loss");
  }
  if (options.accumulate_steps < 1 || !(options.clip_norm >= 0)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a trainer accumulates over 1 batch or more, not ", options.accumulate_steps,
        ", and clips to a norm above 0 or not at all (0), not to ", options.clip_norm));
  }
  return std::unique_ptr<Trainer>(new Trainer(graph, store, context, options));
}

absl::StatusOr<std::unique_ptr<Plan>> Trainer::Compile(int64_t batch, bool training) {
  const int rank = options_.communicator == nullptr ? 0 : options_.communicator->rank();
  return Plan::Compile(graph_, *store_, *context_,
                       {.batch = batch,
                        .training = training,
                        .loss = options_.figures.loss.get(),
                        .conv_variant = options_.conv_variant,
                        .random_seed = options_.random_seed + uint64_t(rank),
                        .fusions = options_.fusions,
                        .ranks = training && exchange_ ? &*exchange_ : nullptr});
}

absl::Status Trainer::PrepareForTraining(int64_t max_batch) {
  if (options_.optimizer == nullptr) {
    return absl::InvalidArgumentError("training needs an optimizer");
  }
  if (update_ == nullptr) {
    DTNN_RETURN_IF_ERROR(store_->AllocateForTraining(*context_, options_.optimizer->slots()));
    DTNN_ASSIGN_OR_RETURN(update_,
                          options_.optimizer->Bind(*context_, store_->dtype(), store_->vectors()));
    if (options_.accumulate_steps > 1) {
      DTNN_ASSIGN_OR_RETURN(add_, CreateAdd(*context_, {.dtype = store_->dtype()}));
      DTNN_ASSIGN_OR_RETURN(accumulated_, Tensor::Allocate(context_->device(), store_->dtype(),
                                                           store_->gradients().shape()));
    }
    if (options_.clip_norm > 0) {
      DTNN_ASSIGN_OR_RETURN(sum_of_squares_, CreateSumOfSquares(*context_, store_->dtype()));
    }
    if (options_.communicator != nullptr) {
      DTNN_RETURN_IF_ERROR(options_.communicator->Broadcast(store_->all_values(), /*root=*/0));
      store_->MarkChanged();
    }
  }
  if (training_batch_ < max_batch) {
    DTNN_ASSIGN_OR_RETURN(training_plan_, Compile(max_batch, /*training=*/true));
    training_batch_ = max_batch;
  }
  return absl::OkStatus();
}

absl::Status Trainer::PrepareForEvaluation(int64_t max_batch) {
  if (evaluation_batch_ < max_batch) {
    DTNN_ASSIGN_OR_RETURN(evaluation_plan_, Compile(max_batch, /*training=*/false));
    evaluation_batch_ = max_batch;
  }
  return absl::OkStatus();
}

absl::Status Trainer::Step(const Batch& batch, Averages* averages, bool last) {
  if (training_plan_ == nullptr) {
    return absl::FailedPreconditionError("Trainer::Step was called before PrepareForTraining");
  }
  if (pending_batches_ == 0) first_samples_ = batch.global_count;
  DTNN_RETURN_IF_ERROR(training_plan_->ForwardBackward(
      batch.x, batch.targets, 1.0 / double(first_samples_), batches_done_));
  if (averages != nullptr) {
    const double loss = training_plan_->LossSum();
    if (!std::isfinite(loss)) return Diverged(batch, loss);
    DTNN_RETURN_IF_ERROR(averages->Add(loss, training_plan_->predictions(), batch.targets));
  }
  statistics_differ_ = options_.communicator != nullptr && !exchange_;
  ++batches_done_;
  ++pending_batches_;
  pending_samples_ += batch.global_count;
  if (options_.accumulate_steps > 1) DTNN_RETURN_IF_ERROR(Accumulate());
  return last || pending_batches_ == options_.accumulate_steps ? Update() : absl::OkStatus();
}

absl::Status Trainer::Accumulate() {
  const Tensor gradients = store_->gradients();
  return add_->Run({&gradients, 1}, accumulated_, /*accumulate=*/pending_batches_ > 1);
}

// One step of the optimizer with the gradients of the batches that wait.
absl::Status Trainer::Update() {
  const Tensor gradients = options_.accumulate_steps > 1 ? accumulated_ : store_->gradients();
  if (options_.communicator != nullptr) {
    DTNN_RETURN_IF_ERROR(options_.communicator->AllReduce(gradients));
  }
  // 1 without accumulation.
  double scale = double(first_samples_) / double(pending_samples_);
  if (options_.clip_norm > 0) {
    DTNN_ASSIGN_OR_RETURN(const double squares, sum_of_squares_->Run(gradients));
    const double norm = scale * std::sqrt(squares);
    if (norm > options_.clip_norm) scale *= options_.clip_norm / norm;
  }
  pending_batches_ = pending_samples_ = 0;
  ++steps_done_;
  DTNN_RETURN_IF_ERROR(update_->Run(
      store_->values(), gradients, store_->slots(),
      {.learning_rate = step_learning_rate(), .step = steps_done_, .gradient_scale = scale}));
  store_->MarkChanged();
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

// Sums values over all ranks.
absl::Status Trainer::Combine(std::vector<double>& values) {
  if (options_.communicator == nullptr) return absl::OkStatus();
  DTNN_ASSIGN_OR_RETURN(Tensor sums, Tensor::Zeros(DType::kFloat64, Shape{int64_t(values.size())}));
  std::memcpy(sums.raw_data(), values.data(), values.size() * sizeof(double));
  DTNN_RETURN_IF_ERROR(options_.communicator->AllReduce(sums));
  std::memcpy(values.data(), sums.raw_data(), values.size() * sizeof(double));
  return absl::OkStatus();
}

// Gives all ranks the mean of their running statistics.
absl::Status Trainer::AverageStatistics() {
  const Tensor statistics = store_->statistics();
  if (!std::exchange(statistics_differ_, false) || statistics.empty()) return absl::OkStatus();
  DTNN_RETURN_IF_ERROR(
      WeightedSum(*options_.communicator, 1.0 / double(options_.communicator->size()), statistics));
  store_->MarkChanged();
  return absl::OkStatus();
}

// A rank that cannot go on tells the others, which would wait for it otherwise.
absl::Status Trainer::RunPass(Loader& loader, Pass& pass, Averages& averages,
                              std::span<Callback* const> callbacks) {
  const absl::Status status = RunBatches(loader, pass, averages, callbacks);
  if (!status.ok() && options_.communicator != nullptr) options_.communicator->Abort(status);
  return status;
}

// One pass over the loader, training or evaluating by the kind of the pass. Leaves `averages` with
// all ranks' figures, unless stopped before the end.
absl::Status Trainer::RunBatches(Loader& loader, Pass& pass, Averages& averages,
                                 std::span<Callback* const> callbacks) {
  const bool training = pass.kind == Pass::Kind::kTraining;
  DTNN_RETURN_IF_ERROR(training ? PrepareForTraining(loader.max_batch())
                                : PrepareForEvaluation(loader.max_batch()));
  if (!training || step_in_epoch_ == 0) {
    averages = Averages(options_.figures, graph_.output_shape()[0]);
    if (training) trained_by_all_ = false;
  }
  pass.averages = &averages;
  pass.samples = loader.samples();
  pass.steps = loader.steps();
  pass.step = training ? step_in_epoch_ : 0;
  pass.done = loader.SamplesBefore(pass.step);
  if (training) batches_done_ = pass.epoch * pass.steps + pass.step;
  for (Callback* callback : callbacks) DTNN_RETURN_IF_ERROR(callback->OnPassBegin(pass));
  loader.StartEpoch(pass.epoch, pass.step);
  for (;;) {
    DTNN_ASSIGN_OR_RETURN(const Batch* batch, loader.Next());
    if (batch == nullptr) break;
    for (Callback* callback : callbacks) DTNN_RETURN_IF_ERROR(callback->OnBatchBegin(pass));
    if (training) {
      DTNN_RETURN_IF_ERROR(Step(*batch, &averages, pass.step + 1 == pass.steps));
    } else {
      DTNN_RETURN_IF_ERROR(evaluation_plan_->Evaluate(batch->x, batch->targets));
      const double loss = evaluation_plan_->LossSum();
      if (!std::isfinite(loss)) {
        return absl::FailedPreconditionError(absl::StrCat(
            "the loss is ", loss, " in ",
            pass.kind == Pass::Kind::kValidation ? "validation" : "the test", " after ",
            steps_done_, " steps: the parameters are no use; lower the learning rate, now ",
            step_learning_rate()));
      }
      DTNN_RETURN_IF_ERROR(averages.Add(loss, evaluation_plan_->predictions(), batch->targets));
    }
    ++pass.step;
    pass.done += batch->global_count;
    if (training) step_in_epoch_ = pass.step;
    for (Callback* callback : callbacks) DTNN_RETURN_IF_ERROR(callback->OnBatchEnd(pass));
    if (stopped_) return absl::OkStatus();
  }
  if (training) DTNN_RETURN_IF_ERROR(AverageStatistics());
  if (!training || !std::exchange(trained_by_all_, true)) {
    std::vector<double> sums = averages.ToDoubles();
    DTNN_RETURN_IF_ERROR(Combine(sums));
    averages.FromDoubles(sums);
  }
  for (Callback* callback : callbacks) DTNN_RETURN_IF_ERROR(callback->OnPassEnd(pass));
  return absl::OkStatus();
}

// What decides which samples a step sees must be as it was when the epoch began.
absl::Status Trainer::CheckSampler(const Loader& training) {
  const LoaderOptions& options = training.options();
  const SamplerSettings now = {.batch = options.batch,
                               .ranks = options.ranks,
                               .samples = training.samples(),
                               .steps_per_epoch = options.steps_per_epoch,
                               .seed = options.seed};
  const SamplerSettings then = std::exchange(sampler_, now);
  if (step_in_epoch_ == 0 || now == then) return absl::OkStatus();
  const auto text = [](const SamplerSettings& s) {
    return absl::StrCat(s.samples, " samples, batches of ", s.batch, " on ", s.ranks, " ranks, ",
                        s.steps_per_epoch, " steps per epoch, seed ", s.seed);
  };
  return absl::InvalidArgumentError(absl::StrCat("epoch ", epochs_done_ + 1, " was left after ",
                                                 step_in_epoch_, " steps with ", text(then),
                                                 "; it cannot go on with ", text(now)));
}

absl::Status Trainer::RunEpochs(Loader& training, Loader* validation, int64_t epochs,
                                std::span<Callback* const> callbacks) {
  while (epochs_done_ < epochs) {
    Averages validated;
    Pass pass{.kind = Pass::Kind::kTraining, .epoch = epochs_done_, .epochs = epochs};
    DTNN_RETURN_IF_ERROR(RunPass(training, pass, trained_, callbacks));
    if (stopped_) break;
    Pass validation_pass{.kind = Pass::Kind::kValidation, .epoch = epochs_done_, .epochs = epochs};
    if (validation != nullptr) {
      DTNN_RETURN_IF_ERROR(RunPass(*validation, validation_pass, validated, callbacks));
      if (stopped_) break;
    }
    ++epochs_done_;
    step_in_epoch_ = 0;
    for (Callback* callback : callbacks) {
      DTNN_RETURN_IF_ERROR(
          callback->OnEpochEnd(pass, validation == nullptr ? nullptr : &validation_pass));
    }
    if (stopped_) break;
  }
  return absl::OkStatus();
}

absl::Status Trainer::Train(Loader& training, Loader* validation, int64_t epochs,
                            std::span<Callback* const> callbacks) {
  stopped_ = std::exchange(ended_, false);
  if (stopped_) return absl::OkStatus();
  DTNN_RETURN_IF_ERROR(CheckSampler(training));
  DTNN_RETURN_IF_ERROR(RunEpochs(training, validation, epochs, callbacks));
  return AverageStatistics();
}

static std::vector<std::string> FigureNames(const Figures& figures) {
  std::vector<std::string> names = {std::string(figures.loss->name())};
  for (const auto& metric : figures.metrics) names.emplace_back(metric->name());
  return names;
}

absl::StatusOr<TrainingState> Trainer::State() {
  if (!settled()) {
    return absl::FailedPreconditionError(
        "the state of a run is complete only behind an update of the parameters");
  }
  DTNN_RETURN_IF_ERROR(AverageStatistics());
  TrainingState state{.epoch = epochs_done_,
                      .step_in_epoch = step_in_epoch_,
                      .steps_done = steps_done_,
                      .ended = stopped_ && step_in_epoch_ == 0,
                      .learning_rate = learning_rate_,
                      .random_seed = options_.random_seed,
                      .sampler = sampler_};
  if (step_in_epoch_ == 0) return state;
  std::vector<double> sums = trained_.ToDoubles();
  if (!trained_by_all_) DTNN_RETURN_IF_ERROR(Combine(sums));
  state.figure_samples = int64_t(sums.back());
  sums.pop_back();
  state.figure_sums = std::move(sums);
  state.figure_names = FigureNames(options_.figures);
  return state;
}

absl::Status Trainer::Restore(const TrainingState& state) {
  if (state.random_seed != options_.random_seed) {
    return absl::InvalidArgumentError(
        absl::StrCat("the run was begun with --random-seed=", state.random_seed, ", not ",
                     options_.random_seed));
  }
  const size_t sums = Averages(options_.figures, graph_.output_shape()[0]).ToDoubles().size() - 1;
  if (state.step_in_epoch > 0 && state.figure_sums.size() != sums) {
    return absl::InvalidArgumentError(
        absl::StrCat("the run was left in the middle of an epoch with ", state.figure_sums.size(),
                     " sums for its loss and metrics; this one has ", sums,
                     ": give it the same --loss-func and --metrics"));
  }
  const std::vector<std::string> names = FigureNames(options_.figures);
  if (state.step_in_epoch > 0 && !state.figure_names.empty() && state.figure_names != names) {
    return absl::InvalidArgumentError(
        absl::StrCat("the run was left in the middle of an epoch with the loss and metrics ",
                     absl::StrJoin(state.figure_names, ","), "; this one has ",
                     absl::StrJoin(names, ","), ": give it the same --loss-func and --metrics"));
  }
  epochs_done_ = state.epoch;
  step_in_epoch_ = state.step_in_epoch;
  steps_done_ = state.steps_done;
  ended_ = state.ended;
  pending_batches_ = pending_samples_ = 0;
  learning_rate_ = state.learning_rate;
  sampler_ = state.sampler;
  if (state.step_in_epoch == 0) return absl::OkStatus();
  // The sums are all ranks': one of them takes them over.
  trained_ = Averages(options_.figures, graph_.output_shape()[0]);
  trained_by_all_ = false;
  if (options_.communicator != nullptr && options_.communicator->rank() > 0)
    return absl::OkStatus();
  std::vector<double> values = state.figure_sums;
  values.push_back(double(state.figure_samples));
  trained_.FromDoubles(values);
  return absl::OkStatus();
}

absl::StatusOr<Averages> Trainer::Evaluate(Loader& loader, std::span<Callback* const> callbacks) {
  Pass pass{.kind = Pass::Kind::kTest};
  Averages averages;
  stopped_ = false;
  DTNN_RETURN_IF_ERROR(RunPass(loader, pass, averages, callbacks));
  return averages;
}

}  // namespace dtnn
