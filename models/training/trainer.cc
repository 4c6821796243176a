#include "models/training/trainer.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "models/training/sampler_settings.h"
#include "tensor/status_macros.h"
#include "tensor/stopwatch.h"

namespace dtnn {
namespace {

// Adds the time that it lives, and how much of that went to waiting for other ranks.
class PassClock {
 public:
  PassClock(const Communicator* communicator, double& seconds, double& waited)
      : communicator_(communicator), seconds_(seconds), waited_(waited) {}
  ~PassClock() {
    seconds_ += stopwatch_.seconds();
    waited_ += WaitedSoFar() - waited_before_;
  }

 private:
  double WaitedSoFar() const {
    return communicator_ == nullptr ? 0 : communicator_->waited_seconds();
  }

  const Communicator* const communicator_;
  double &seconds_, &waited_;
  const Stopwatch stopwatch_;
  const double waited_before_ = WaitedSoFar();
};

}  // namespace

Trainer::Trainer(const Graph& graph, ParameterStore& store, DeviceContext& context,
                 const TrainerOptions& options)
    : graph_(graph),
      store_(&store),
      context_(&context),
      options_(options),
      learning_rate_(options.learning_rate),
      sync_(options.communicator, {.models = options.model_sync,
                                   .at_start = options.initial_model_sync,
                                   .at_end = options.final_model_sync,
                                   .common_statistics = options.sync_batch_norm}) {
  if (options.sync_batch_norm && options.communicator != nullptr) {
    exchange_.emplace(*options.communicator);
  }
}

absl::StatusOr<std::unique_ptr<Trainer>> Trainer::Create(const Graph& graph, ParameterStore& store,
                                                         DeviceContext& context,
                                                         const TrainerOptions& options) {
  if (options.metric_set.loss == nullptr) {
    return absl::InvalidArgumentError("a trainer needs a loss");
  }
  if (options.accumulate_steps < 1 || !(options.clip_norm >= 0)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a trainer accumulates over 1 batch or more, not ", options.accumulate_steps,
        ", and clips to a norm above 0 or not at all (0), not to ", options.clip_norm));
  }
  if (options.sync_batch_norm && options.model_sync.frequency != 0) {
    return absl::InvalidArgumentError(
        "synchronised batch normalisation needs all ranks in every step; models that are "
        "synchronised now and then take steps on their own");
  }
  std::unique_ptr<Trainer> trainer(new Trainer(graph, store, context, options));
  DTNN_RETURN_IF_ERROR(trainer->sync_.Check());
  return trainer;
}

absl::StatusOr<std::unique_ptr<Plan>> Trainer::Compile(int64_t batch, bool training) {
  const int rank = options_.communicator == nullptr ? 0 : options_.communicator->rank();
  return Plan::Compile(graph_, *store_, *context_,
                       {.batch = batch,
                        .training = training,
                        .loss = options_.metric_set.loss.get(),
                        .conv_variant = options_.conv_variant,
                        .random_seed = options_.random_seed + uint64_t(rank),
                        .fusions = options_.fusions,
                        .ranks = training && exchange_ ? &*exchange_ : nullptr});
}

absl::Status Trainer::PrepareForTraining(int64_t max_batch) {
  if (options_.optimizer == nullptr) {
    return absl::InvalidArgumentError("training needs an optimizer");
  }
  if (updater_ == nullptr) {
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

// Sums values over all ranks.
absl::Status Trainer::Combine(std::vector<double>& values) {
  if (options_.communicator == nullptr) return absl::OkStatus();
  DTNN_ASSIGN_OR_RETURN(Tensor sums, Tensor::Zeros(DType::kFloat64, Shape{int64_t(values.size())}));
  std::memcpy(sums.raw_data(), values.data(), values.size() * sizeof(double));
  DTNN_RETURN_IF_ERROR(options_.communicator->AllReduce(sums));
  std::memcpy(values.data(), sums.raw_data(), values.size() * sizeof(double));
  return absl::OkStatus();
}

// A rank that cannot go on tells the others, which would wait for it otherwise. By the code they
// know whether it has diverged; what comes with that code from a callback or a loader gets another.
absl::Status Trainer::Ended(absl::Status status) {
  Communicator* const others = options_.communicator;
  if (absl::IsOutOfRange(status) && !diverged_) {
    diverged_ = others != nullptr && !others->lost().empty();  // who told so
    if (!diverged_) status = absl::UnknownError(status.message());
  }
  if (!status.ok() && others != nullptr) others->Abort(status);
  return status;
}

absl::Status Trainer::EvaluateBatch(const Batch& batch, const Pass& pass,
                                    MetricAverages& averages) {
  DTNN_RETURN_IF_ERROR(evaluation_plan_->Evaluate(batch.x, batch.targets));
  const double loss = evaluation_plan_->LossSum();
  if (!std::isfinite(loss)) {
    diverged_ = true;
    return absl::OutOfRangeError(absl::StrCat(
        "the loss is ", loss, " in ",
        pass.kind == Pass::Kind::kValidation ? "validation" : "the test", " after ", steps_done_,
        " steps: the parameters are of no use; lower the learning rate, now ",
        step_learning_rate()));
  }
  return averages.Add(loss, evaluation_plan_->predictions(), batch.targets);
}

// One pass over the loader, training or evaluating by the kind of the pass. Leaves `averages` with
// all ranks' figures, unless stopped before the end.
absl::Status Trainer::RunPass(Loader& loader, Pass& pass, MetricAverages& averages,
                              std::span<Callback* const> callbacks) {
  const bool training = pass.kind == Pass::Kind::kTraining;
  const int64_t max_batch = std::max<int64_t>(1, loader.max_batch());
  DTNN_RETURN_IF_ERROR(training ? PrepareForTraining(max_batch) : PrepareForEvaluation(max_batch));
  std::optional<PassClock> clock;
  if (training) clock.emplace(options_.communicator, training_seconds_, waited_seconds_);
  DTNN_ASSIGN_OR_RETURN(const RankShares shares, RankShares::Of(loader, options_.communicator));
  if (training) sync_.set_shares(shares);
  if (!training || !in_epoch()) {
    averages = MetricAverages(options_.metric_set, graph_.output_shape()[0]);
    if (training) trained_by_all_ = false;
  }
  int64_t step = training ? step_in_epoch_ : 0;
  const int64_t before = training ? StepsBeforeFirst(sampler_) : 0;
  pass.averages = &averages;
  pass.samples = shares.total();
  if (training) training_samples_ = pass.samples;
  if (pass.kind == Pass::Kind::kValidation) validation_samples_ = pass.samples;
  pass.steps = before + shares.steps();
  pass.step = before + step;
  pass.done = shares.SamplesBefore(step);
  if (training) batches_done_ = pass.epoch * pass.steps + pass.step;
  for (Callback* callback : callbacks) DTNN_RETURN_IF_ERROR(callback->OnPassBegin(pass));
  loader.StartEpoch(pass.epoch, step);
  while (pass.step < pass.steps) {
    DTNN_ASSIGN_OR_RETURN(const Batch* batch, loader.Next());
    for (Callback* callback : callbacks) DTNN_RETURN_IF_ERROR(callback->OnBatchBegin(pass));
    if (training) {
      const bool last = pass.step + 1 == pass.steps;
      DTNN_RETURN_IF_ERROR(Step(batch == nullptr ? Batch() : *batch, &averages, last));
    } else if (batch != nullptr) {
      DTNN_RETURN_IF_ERROR(EvaluateBatch(*batch, pass, averages));
    }
    ++pass.step;
    pass.done = shares.SamplesBefore(++step);
    if (training) step_in_epoch_ = step;
    for (Callback* callback : callbacks) DTNN_RETURN_IF_ERROR(callback->OnBatchEnd(pass));
    if (stopped_) return absl::OkStatus();
  }
  if (training) DTNN_RETURN_IF_ERROR(sync_.AverageStatistics(*store_));
  if (!training || !std::exchange(trained_by_all_, true)) {
    std::vector<double> sums = averages.ToDoubles();
    DTNN_RETURN_IF_ERROR(Combine(sums));
    averages.FromDoubles(sums);
  }
  for (Callback* callback : callbacks) DTNN_RETURN_IF_ERROR(callback->OnPassEnd(pass));
  return absl::OkStatus();
}

absl::Status Trainer::BeginEpochs(Loader& training) {
  DTNN_ASSIGN_OR_RETURN(const RankShares shares, RankShares::Of(training, options_.communicator));
  if (exchange_ && shares.own_data()) {
    return absl::InvalidArgumentError(
        "synchronised batch normalisation needs all ranks in every step, hence common data; ranks "
        "with data of their own take different numbers of steps");
  }
  sync_.set_shares(shares);
  return GoOnWithEpoch(training, SettingsOf(training, shares));
}

// Leaves the loader and sampler_ at the first sample that is not done.
absl::Status Trainer::GoOnWithEpoch(Loader& training, const SamplerSettings& now) {
  EpochPlace place;
  if (in_epoch()) {
    const absl::StatusOr<EpochPlace> found = PlaceToGoOn(sampler_, step_in_epoch_, now);
    if (!found.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("epoch ", epochs_done_ + 1, " was left after ", step_in_epoch_,
                       " steps and cannot go on: ", std::string(found.status().message())));
    }
    place = *found;
  }
  if (training.SamplesBefore(0) != place.first) {
    DTNN_RETURN_IF_ERROR(training.Skip(place.first));
  }
  sampler_ = now;
  sampler_.first = place.first;
  step_in_epoch_ = place.step;
  return absl::OkStatus();
}

absl::Status Trainer::EndEpoch(Loader& training) {
  ++epochs_done_;
  step_in_epoch_ = 0;
  return std::exchange(sampler_.first, 0) == 0 ? absl::OkStatus() : training.Skip(0);
}

absl::Status Trainer::RunEpochs(Loader& training, Loader* validation, int64_t epochs,
                                std::span<Callback* const> callbacks) {
  while (epochs_done_ < epochs) {
    MetricAverages validated;
    Pass pass{.kind = Pass::Kind::kTraining, .epoch = epochs_done_, .epochs = epochs};
    DTNN_RETURN_IF_ERROR(RunPass(training, pass, trained_, callbacks));
    if (stopped_) break;
    Pass validation_pass{.kind = Pass::Kind::kValidation, .epoch = epochs_done_, .epochs = epochs};
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
  stopped_ = std::exchange(ended_, false);
  if (stopped_) return absl::OkStatus();
  diverged_ = false;
  absl::Status status = BeginEpochs(training);
  if (status.ok()) status = RunEpochs(training, validation, epochs_done_ + epochs, callbacks);
  if (status.ok()) {
    // An epoch left in its middle is gone on with as it is.
    status = in_epoch() ? sync_.AverageStatistics(*store_) : sync_.EndTraining(*store_);
  }
  return Ended(std::move(status));
}

absl::StatusOr<MetricAverages> Trainer::Evaluate(Loader& loader,
                                                 std::span<Callback* const> callbacks) {
  Pass pass{.kind = Pass::Kind::kTest};
  MetricAverages averages;
  // A run that is to end does so although it is evaluated first.
  const bool stopped = std::exchange(stopped_, false);
  const absl::Status status = RunPass(loader, pass, averages, callbacks);
  stopped_ |= stopped;
  DTNN_RETURN_IF_ERROR(Ended(status));
  return averages;
}

}  // namespace dtnn
