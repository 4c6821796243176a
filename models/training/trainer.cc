#include "models/training/trainer.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_join.h"
#include "models/training/ranks/rank_shares.h"
#include "models/training/sampler_settings.h"
#include "tensor/errors.h"
#include "tensor/stopwatch.h"
#include "tensor/tensor.h"
#include "tensor/trace/observer.h"

namespace dtnn {
namespace {

// Adds its lifetime to the seconds of training, and the part that the rank waited for others to the
// seconds waited.
class PassClock {
 public:
  PassClock(const Communicator* communicator, PassTotals& totals)
      : communicator_(communicator), totals_(totals) {}
  ~PassClock() {
    totals_.training_seconds += stopwatch_.seconds();
    totals_.waited_seconds += WaitedSoFar() - waited_before_;
  }

 private:
  double WaitedSoFar() const {
    return communicator_ == nullptr ? 0 : communicator_->waited_seconds();
  }

  const Communicator* const communicator_;
  PassTotals& totals_;
  const Stopwatch stopwatch_;
  const double waited_before_ = WaitedSoFar();
};

Activity ActivityOf(Pass::Kind kind) {
  switch (kind) {
    case Pass::Kind::kTraining:
      return Activity::kTraining;
    case Pass::Kind::kValidation:
      return Activity::kValidation;
    case Pass::Kind::kTest:
      break;
  }
  return Activity::kTest;
}

// A run is with differential privacy from its first step to its last, or not at all.
absl::Status CheckAccount(const PrivateTraining& privacy, const TrainingState& state) {
  const std::vector<double>& spent = state.privacy_spent;
  if (!privacy.enabled() && !spent.empty()) {
    return absl::InvalidArgumentError(
        "the run was started with differential privacy of samples, which steps without it would "
        "end; continue with it");
  }
  if (!privacy.enabled() || (state.steps_done == 0 && spent.empty())) return absl::OkStatus();
  if (spent.empty()) {
    return InvalidArgument(
        "the run was started without differential privacy of samples: its first ", state.steps_done,
        " steps may have revealed anything; begin a new run with it");
  }
  federation::RenyiAccountant accountant;
  const bool possible = std::ranges::all_of(spent, [](double x) { return x >= 0; });
  if (possible && accountant.Restore(spent)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "the state holds no account of differential privacy that a run can have: it is damaged; "
      "resume from another checkpoint");
}

}  // namespace

Trainer::Trainer(std::unique_ptr<StepEngine> engine)
    : engine_(std::move(engine)),
      state_{.learning_rate = engine_->options().learning_rate,
             .random_seed = engine_->options().random_seed} {}

absl::StatusOr<std::unique_ptr<Trainer>> Trainer::Create(const Graph& graph, ParameterStore& store,
                                                         DeviceContext& context,
                                                         const TrainerOptions& options) {
  DTNN_ASSIGN_OR_RETURN(std::unique_ptr<StepEngine> engine,
                        StepEngine::Create(graph, store, context, options));
  return std::unique_ptr<Trainer>(new Trainer(std::move(engine)));
}

void Trainer::SetRate(double rate, double factor) {
  state_.learning_rate = rate;
  learning_rate_factor_ = factor;
  engine_->set_learning_rate(rate * factor);
}

// A rank that fails tells the others, which would otherwise wait for it. Code OutOfRange tells them
// that it has diverged, so an error of a callback or a loader with that code gets another one.
absl::Status Trainer::Ended(absl::Status status) {
  Communicator* const others = communicator();
  if (absl::IsOutOfRange(status) && !diverged_) {
    diverged_ = others != nullptr && !others->lost().empty();  // another rank has
    if (!diverged_) status = absl::UnknownError(status.message());
  }
  if (!status.ok() && others != nullptr) others->Abort(status);
  return status;
}

// `batch`: null where this rank has none in this step.
absl::Status Trainer::RunBatch(const Batch* batch, const Pass& pass, MetricAverages& averages) {
  absl::Status status;
  if (pass.kind == Pass::Kind::kTraining) {
    const bool last = pass.step + 1 == pass.steps;
    status = engine_->Step(batch == nullptr ? Batch() : *batch, &averages, last);
    state_.steps_done = engine_->steps_done();
    state_.step_in_epoch = engine_->step();
  } else if (batch != nullptr) {
    const bool validation = pass.kind == Pass::Kind::kValidation;
    status = engine_->Evaluate(*batch, validation ? "validation" : "the test", averages);
  }
  diverged_ |= absl::IsOutOfRange(status);
  return status;
}

// Takes in the results of the steps so far (StepEngine::CatchUp).
absl::Status Trainer::CatchUp(MetricAverages& averages) {
  const absl::Status status = engine_->CatchUp(averages);
  diverged_ |= absl::IsOutOfRange(status);
  return status;
}

// One pass over the loader: training, validation or test, as `pass.kind` says. At its end
// `averages` holds the metrics of all ranks; a pass that was stopped leaves this rank's own.
absl::Status Trainer::RunPass(Loader& loader, Pass& pass, MetricAverages& averages,
                              std::span<Callback* const> callbacks) {
  const bool training = pass.kind == Pass::Kind::kTraining;
  const int64_t max_batch = std::max<int64_t>(1, loader.max_batch());
  DTNN_RETURN_IF_ERROR(training ? engine_->PrepareForTraining(max_batch)
                                : engine_->PrepareForEvaluation(max_batch));
  const Span span({.activity = ActivityOf(pass.kind)});
  std::optional<PassClock> clock;
  if (training) clock.emplace(communicator(), totals_);
  DTNN_ASSIGN_OR_RETURN(const RankShares shares, RankShares::Of(loader, communicator()));
  if (!training || !state_.in_epoch()) {
    averages = engine_->NewAverages();
    if (training) trained_by_all_ = engine_->options().common_metrics;
  }
  int64_t step = training ? state_.step_in_epoch : 0;
  const int64_t before = training ? StepsBeforeFirst(state_.sampler) : 0;
  pass.trainer = this;
  pass.averages = &averages;
  pass.samples = shares.total();
  pass.steps = before + shares.steps();
  pass.step = before + step;
  pass.done = shares.SamplesBefore(step);
  if (training) {
    totals_.epoch_samples = pass.samples;
    engine_->BeginPass(shares, step, pass.epoch * pass.steps + before);
  }
  for (Callback* callback : callbacks) DTNN_RETURN_IF_ERROR(callback->OnPassBegin(pass));
  loader.StartEpoch(pass.epoch, step);
  while (pass.step < pass.steps) {
    DTNN_ASSIGN_OR_RETURN(const Batch* batch, loader.Next());
    for (Callback* callback : callbacks) DTNN_RETURN_IF_ERROR(callback->OnBatchBegin(pass));
    DTNN_RETURN_IF_ERROR(RunBatch(batch, pass, averages));
    ++pass.step;
    const int64_t done = std::exchange(pass.done, shares.SamplesBefore(++step));
    if (training) totals_.training_samples += pass.done - done;
    if (pass.kind == Pass::Kind::kValidation) totals_.validation_samples += pass.done - done;
    if (!training && batch != nullptr) {
      pass.batch = batch;
      pass.predictions = &engine_->predictions();
    }
    for (Callback* callback : callbacks) DTNN_RETURN_IF_ERROR(callback->OnBatchEnd(pass));
    pass.batch = nullptr;
    pass.predictions = nullptr;
    if (stopped_) return training ? CatchUp(averages) : absl::OkStatus();
  }
  if (training) {
    DTNN_RETURN_IF_ERROR(CatchUp(averages));
    const absl::Status scale = engine_->CheckLossScale();
    diverged_ |= absl::IsOutOfRange(scale);
    DTNN_RETURN_IF_ERROR(scale);
    DTNN_RETURN_IF_ERROR(engine_->AverageStatistics());
    pass.epsilon = engine_->epsilon();
  }
  // An epoch that was stopped during its validation already has the metrics of all ranks.
  if (!training || !std::exchange(trained_by_all_, true))
    DTNN_RETURN_IF_ERROR(engine_->Combine(averages));
  for (Callback* callback : callbacks) DTNN_RETURN_IF_ERROR(callback->OnPassEnd(pass));
  return absl::OkStatus();
}

absl::Status Trainer::BeginEpochs(Loader& training) {
  DTNN_ASSIGN_OR_RETURN(const RankShares shares, RankShares::Of(training, communicator()));
  if (engine_->options().sync_batch_norm && shares.own_data()) {
    return absl::InvalidArgumentError(
        "synchronised batch normalisation needs all ranks in every step, hence shared data; ranks "
        "with their own data take different numbers of steps");
  }
  const Optimizer* const optimizer = engine_->options().optimizer.get();
  if (optimizer != nullptr && optimizer->sparse_sum() && shares.own_data()) {
    return InvalidArgument("optimizer ", optimizer->name(),
                           " needs all ranks in every step, hence shared data; ranks with their "
                           "own data take different numbers of steps");
  }
  if (optimizer != nullptr && optimizer->average_slot() && shares.own_data()) {
    return absl::InvalidArgumentError(
        "an average of the parameters needs the same ones on all ranks, hence shared data; ranks "
        "with their own data take steps on their own");
  }
  if (engine_->options().privacy.enabled()) {
    const double probability = training.probability();
    if (probability == 0) {
      return absl::InvalidArgumentError(
          "differential privacy of samples needs a loader with Poisson sampling "
          "(LoaderOptions::poisson), which its bound assumes");
    }
    DTNN_RETURN_IF_ERROR(engine_->SetSampling(
        probability, double(probability < 1 ? training.options().batch : training.max_batch())));
  }
  DTNN_RETURN_IF_ERROR(ResumeEpoch(training, SettingsOf(training, shares)));
  engine_->BeginPass(shares, state_.step_in_epoch, /*first_batch=*/0);
  return absl::OkStatus();
}

// Leaves the loader and state_.sampler at the first sample that is not done.
absl::Status Trainer::ResumeEpoch(Loader& training, const SamplerSettings& now) {
  EpochPlace place;
  if (state_.in_epoch()) {
    DTNN_ASSIGN_OR_RETURN(
        place, WithContext(PlaceToResume(state_.sampler, state_.step_in_epoch, now), "epoch ",
                           state_.epoch + 1, " was interrupted after ", state_.step_in_epoch,
                           " steps and cannot be continued"));
  }
  if (training.SamplesBefore(0) != place.first) {
    DTNN_RETURN_IF_ERROR(training.Skip(place.first));
  }
  state_.sampler = now;
  state_.sampler.first = place.first;
  state_.step_in_epoch = place.step;
  return absl::OkStatus();
}

absl::Status Trainer::EndEpoch(Loader& training) {
  ++state_.epoch;
  state_.step_in_epoch = 0;
  return std::exchange(state_.sampler.first, 0) == 0 ? absl::OkStatus() : training.Skip(0);
}

absl::Status Trainer::RunEpochs(Loader& training, Loader* validation, int64_t epochs,
                                std::span<Callback* const> callbacks) {
  while (state_.epoch < epochs) {
    MetricAverages validated;
    Pass pass{.kind = Pass::Kind::kTraining, .epoch = state_.epoch, .epochs = epochs};
    DTNN_RETURN_IF_ERROR(RunPass(training, pass, trained_, callbacks));
    DTNN_RETURN_IF_ERROR(engine_->ShowAverage());
    if (stopped_) break;
    Pass validation_pass{.kind = Pass::Kind::kValidation, .epoch = state_.epoch, .epochs = epochs};
    if (validation != nullptr) {
      DTNN_RETURN_IF_ERROR(RunPass(*validation, validation_pass, validated, callbacks));
      if (stopped_) break;
    }
    DTNN_RETURN_IF_ERROR(EndEpoch(training));
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
  stopped_ = std::exchange(state_.ended, false);
  if (stopped_) return absl::OkStatus();
  diverged_ = false;
  absl::Status status = BeginEpochs(training);
  if (status.ok()) status = RunEpochs(training, validation, state_.epoch + epochs, callbacks);
  if (status.ok()) {
    // An epoch that was stopped in its middle will be resumed: the training has not ended.
    status = state_.in_epoch() ? engine_->AverageStatistics() : engine_->EndTraining();
  }
  return Ended(std::move(status));
}

absl::StatusOr<MetricAverages> Trainer::Evaluate(Loader& loader,
                                                 std::span<Callback* const> callbacks) {
  Pass pass{.kind = Pass::Kind::kTest};
  MetricAverages averages;
  // Stopping a test does not undo an earlier request to stop the run.
  const bool stopped = std::exchange(stopped_, false);
  const absl::Status status = RunPass(loader, pass, averages, callbacks);
  stopped_ |= stopped;
  DTNN_RETURN_IF_ERROR(Ended(status));
  return averages;
}

absl::StatusOr<TrainingState> Trainer::StateWith(bool all_ranks) {
  if (!diverged_ && state_.in_epoch()) DTNN_RETURN_IF_ERROR(CatchUp(trained_));
  if (engine_->torn()) {
    return FailedPrecondition(
        "the update after step ", state_.steps_done,
        " failed halfway: some parameters are updated and others are not, so they "
        "cannot be saved");
  }
  if (diverged_) {
    return FailedPrecondition(
        "training has diverged after ", state_.steps_done,
        " steps; with these parameters the loss would be NaN or infinite again, so "
        "they are not saved");
  }
  if (!engine_->settled()) {
    return absl::FailedPreconditionError(
        "the state of a run is complete only after an update of the parameters");
  }
  if (all_ranks) DTNN_RETURN_IF_ERROR(engine_->AverageStatistics());
  DTNN_RETURN_IF_ERROR(engine_->ShowAverage());
  TrainingState state = state_;
  state.ended |= stopped_ && !state.in_epoch();
  if (engine_->options().privacy.enabled()) state.privacy_spent = engine_->privacy_spent();
  if (!state.in_epoch()) return state;
  MetricAverages trained = trained_;
  if (all_ranks && !trained_by_all_) DTNN_RETURN_IF_ERROR(engine_->Combine(trained));
  state.metrics = {.names = trained.metric_set().Names(),
                   .sums = trained.ToDoubles(),
                   .samples = trained.samples()};
  state.metrics.sums.pop_back();  // the count
  return state;
}

absl::Status Trainer::CheckState(const TrainingState& state) const {
  if (state.random_seed != state_.random_seed) {
    return InvalidArgument("the run was started with random seed ", state.random_seed, ", not ",
                           state_.random_seed);
  }
  DTNN_RETURN_IF_ERROR(CheckAccount(engine_->options().privacy, state));
  if (!state.in_epoch()) return absl::OkStatus();
  const size_t sums = engine_->NewAverages().ToDoubles().size() - 1;
  if (state.metrics.sums.size() != sums) {
    return InvalidArgument(
        "the run was interrupted in the middle of an epoch with ", state.metrics.sums.size(),
        " sums for its loss and metrics; this one has ", sums, "; use the same loss and metrics");
  }
  const std::vector<std::string> names = engine_->options().metric_set.Names();
  if (!state.metrics.names.empty() && state.metrics.names != names) {
    return InvalidArgument(
        "the run was interrupted in the middle of an epoch with the loss and metrics ",
        absl::StrJoin(state.metrics.names, ","), "; this one has ", absl::StrJoin(names, ","),
        "; use the same loss and metrics");
  }
  return CheckPlace(state.sampler, state.step_in_epoch);
}

absl::Status Trainer::Restore(const TrainingState& state) {
  DTNN_RETURN_IF_ERROR(CheckState(state));
  state_ = state;
  engine_->RestorePrivacySpent(std::exchange(state_.privacy_spent, {}));  // CheckState has seen it
  engine_->set_steps_done(state.steps_done);
  SetRate(state.learning_rate, learning_rate_factor_);
  diverged_ = false;
  trained_by_all_ = engine_->options().common_metrics;
  trained_ = engine_->NewAverages();
  MetricSums metrics = std::exchange(state_.metrics, {});
  // The sums are those of all ranks, and where they will be added up again only rank 0 takes them.
  const bool takes = trained_by_all_ || communicator() == nullptr || communicator()->rank() == 0;
  if (state.in_epoch() && takes) {
    metrics.sums.push_back(double(metrics.samples));
    trained_.FromDoubles(metrics.sums);
  }
  return absl::OkStatus();
}

}  // namespace dtnn
