// Trains and evaluates a network: epochs over loaders around a StepEngine, callbacks, and where the
// run stands, over the ranks of a communicator.
//
// Running statistics, which each rank tracks on its samples, are averaged at the end of every
// epoch, of Train, and by State. A rank whose pass fails aborts the communicator, so that the
// others end too.

#ifndef DTNN_MODELS_TRAINING_TRAINER_H_
#define DTNN_MODELS_TRAINING_TRAINER_H_

#include <cstdint>
#include <memory>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "comm/communicator.h"
#include "data/loading/loader.h"
#include "models/checkpoint/training_state.h"
#include "models/graph/graph.h"
#include "models/parameters/parameter_store.h"
#include "models/training/callback.h"
#include "models/training/metric_averages.h"
#include "models/training/step_engine.h"
#include "models/training/trainer_options.h"

namespace dtnn {

// What the passes of Train have come to.
struct PassTotals {
  // Samples of an epoch, over all ranks; as of the last passes.
  int64_t training_samples = 0, validation_samples = 0;
  // The time of training passes so far, callbacks during a pass included but neither validation nor
  // what happens between passes; and for how much of that this rank could do nothing but wait for
  // others, whatever was exchanged (Communicator::waited_seconds).
  double training_seconds = 0, waited_seconds = 0;
};

class Trainer {
 public:
  // The store and the context must outlive the trainer.
  static absl::StatusOr<std::unique_ptr<Trainer>> Create(const Graph& graph, ParameterStore& store,
                                                         DeviceContext& context,
                                                         const TrainerOptions& options);

  // Trains `epochs` more epochs, one that was left in its middle counted as one of them. Each is a
  // pass over `training`, followed by one over `validation` where there is one. Nothing happens
  // after the Restore of a run that a callback had ended with an epoch. OutOfRange where a loss is
  // NaN or infinite, on this rank or on another, and for no other reason: diverged().
  absl::Status Train(Loader& training, Loader* validation, int64_t epochs,
                     std::span<Callback* const> callbacks);
  // One pass in evaluation mode. Callbacks of training may call it.
  absl::StatusOr<MetricAverages> Evaluate(Loader& loader, std::span<Callback* const> callbacks);
  // For callbacks: Train returns when all callbacks of the moment have run. From OnBatchEnd, that
  // leaves the epoch unfinished, to be gone on with by another Train or another process. An
  // Evaluate in progress ends too, and with it the Train that it is called from.
  void Stop() { stopped_ = true; }
  bool stopped() const { return stopped_; }

  // What Train begins with, for who must know earlier: whether there is memory (and optimizer state
  // for a checkpoint to go to), and whether the data fit. BeginEpochs brings `training` to the
  // place where the epochs to come begin. All ranks call each together.
  absl::Status PrepareForTraining(int64_t max_batch) {
    return engine_->PrepareForTraining(max_batch);
  }
  absl::Status BeginEpochs(Loader& training);

  // Where the run stands, for a checkpoint: after Train, or inside OnBatchEnd and OnEpochEnd of
  // training, when settled (StepEngine). All ranks call it together. What schedulers know is for
  // the caller to add.
  absl::StatusOr<TrainingState> State() { return StateWith(/*all_ranks=*/true); }
  // The same without the other ranks, who may be gone: the metrics of the epoch in progress are of
  // this rank's samples. After a step that failed, with whole_steps only. FailedPrecondition, from
  // both, where nobody should go on from here: parameters are torn between two steps, or diverged.
  absl::StatusOr<TrainingState> StateAlone() { return StateWith(/*all_ranks=*/false); }
  // Goes on from a state: the next Train begins in the middle of an epoch if need be, and gives the
  // numbers of a run that never stopped. On another number of ranks, or with other batches, every
  // sample of that epoch still comes once, and its metrics are of all of them; steps then count,
  // for schedules that follow them (warm-up, cosine), as if the whole run had had the steps of now.
  // The rate that schedules have lowered is kept as it was, whatever the ranks. Parameters and
  // optimizer state are for the caller to bring back, after PrepareForTraining. InvalidArgument for
  // a state of another seed or other metrics; from Train, for data that the epoch cannot go on with
  // (sampler_settings.h).
  absl::Status Restore(const TrainingState& state);
  // Whether Restore would take it.
  absl::Status CheckState(const TrainingState& state) const;
  // Whether a loss was NaN or infinite, on this rank or on another, since the last Train or Restore
  // began: with these parameters it would be again.
  bool diverged() const { return diverged_; }

  // A step's rate is the product of the two: a rate that schedules lower now and then, and a factor
  // that follows the step's number (a warm-up).
  double learning_rate() const { return state_.learning_rate; }
  void set_learning_rate(double rate) { SetRate(rate, learning_rate_factor_); }
  void set_learning_rate_factor(double factor) { SetRate(state_.learning_rate, factor); }

  // Epochs that have come to their end, and updates of the parameters.
  int64_t epochs_done() const { return state_.epoch; }
  int64_t steps_done() const { return state_.steps_done; }
  const PassTotals& totals() const { return totals_; }
  const StepEngine& engine() const { return *engine_; }

 private:
  explicit Trainer(std::unique_ptr<StepEngine> engine);

  absl::Status RunEpochs(Loader& training, Loader* validation, int64_t epochs,
                         std::span<Callback* const> callbacks);
  absl::Status GoOnWithEpoch(Loader& training, const SamplerSettings& now);
  absl::Status EndEpoch(Loader& training);
  absl::Status RunPass(Loader& loader, Pass& pass, MetricAverages& averages,
                       std::span<Callback* const> callbacks);
  absl::Status RunBatch(const Batch* batch, const Pass& pass, MetricAverages& averages);
  absl::Status Combine(MetricAverages& averages);
  absl::Status Ended(absl::Status status);
  absl::StatusOr<TrainingState> StateWith(bool all_ranks);
  void SetRate(double rate, double factor);
  Communicator* communicator() const { return engine_->options().communicator; }

  const std::unique_ptr<StepEngine> engine_;
  // Its metrics are in trained_. The sampler is of the last Train, or of the run that was restored;
  // the training loader leaves out its `first` samples.
  TrainingState state_;
  MetricAverages trained_;       // of what is done of the epoch in progress
  bool trained_by_all_ = false;  // all ranks' metrics; else of this rank
  bool stopped_ = false, diverged_ = false;
  double learning_rate_factor_ = 1;
  PassTotals totals_;
};

}  // namespace dtnn

#endif  // DTNN_MODELS_TRAINING_TRAINER_H_
