// Trains and evaluates a network over the ranks of a communicator: epochs over loaders with a
// StepEngine, callbacks, and the progress of the run.
//
// Where the optimizer keeps an average of the parameters, it takes their place after every pass of
// training and before a state is saved (StepEngine::ShowAverage): tests, callbacks and files see
// the average.
//
// Running statistics, which each rank tracks on its samples, are averaged at the end of every
// epoch, of Train, and by State. A rank whose pass fails aborts the communicator, so that the
// others end too.

#ifndef DTNN_MODELS_TRAINING_TRAINER_H_
#define DTNN_MODELS_TRAINING_TRAINER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "comm/communicator.h"
#include "data/loading/loader.h"
#include "models/checkpoint/training_state.h"
#include "models/graph/graph.h"
#include "models/parameters/parameter_store.h"
#include "models/training/callback.h"
#include "models/training/step/metric_averages.h"
#include "models/training/step/step_engine.h"
#include "models/training/step/trainer_options.h"

namespace dtnn {

// Totals over the passes of Train.
struct PassTotals {
  // Samples done in these passes, over all ranks: of an epoch that an interrupted run had begun,
  // only those since. And those of a whole epoch of training, as of the last one.
  int64_t training_samples = 0, validation_samples = 0, epoch_samples = 0;
  // The time of training passes so far, including callbacks during a pass, but neither validation
  // nor what happens between passes; and the part of it in which this rank only waited for others
  // (Communicator::waited_seconds).
  double training_seconds = 0, waited_seconds = 0;
};

class Trainer {
 public:
  // The store and the context must outlive the trainer.
  static absl::StatusOr<std::unique_ptr<Trainer>> Create(const Graph& graph, ParameterStore& store,
                                                         DeviceContext& context,
                                                         const TrainerOptions& options);

  // Trains `epochs` more epochs; an interrupted one counts as one of them. Each is a pass over
  // `training`, followed by one over `validation` if it is given. Does nothing after the Restore of
  // a run that a callback had ended at the end of an epoch. OutOfRange if a loss is NaN or infinite
  // on any rank (diverged()), and for no other reason. On devices that only queue work, the
  // averages that callbacks see after a batch are those of the batches before it.
  absl::Status Train(Loader& training, Loader* validation, int64_t epochs,
                     std::span<Callback* const> callbacks);
  // One pass in evaluation mode. Callbacks of training may call it.
  absl::StatusOr<MetricAverages> Evaluate(Loader& loader, std::span<Callback* const> callbacks);
  // For callbacks: Train returns when all callbacks have been called for the current event. When
  // called in OnBatchEnd, the epoch stays unfinished; another Train or another process can continue
  // it. An Evaluate in progress ends too, and so does the Train from which it was called.
  void Stop() { stopped_ = true; }
  bool stopped() const { return stopped_; }
  // Whether the next Train does nothing: it was restored from the end of a run.
  bool ended() const { return state_.ended; }

  // The first parts of Train, for callers that want errors earlier, or restore optimizer state:
  // allocation of memory, and the check of the data. BeginEpochs moves `training` to the place
  // where the next epochs begin. All ranks call each together.
  absl::Status PrepareForTraining(int64_t max_batch) {
    return engine_->PrepareForTraining(max_batch);
  }
  absl::Status BeginEpochs(Loader& training);

  // The progress of the run, for a checkpoint: after Train, or inside OnBatchEnd and OnEpochEnd of
  // training, when settled (StepEngine). All ranks call it together. The caller adds the state of
  // schedulers.
  absl::StatusOr<TrainingState> State() { return StateWith(/*all_ranks=*/true); }
  // The same without the other ranks, which may be lost: the metrics of the epoch in progress are
  // of this rank's samples only, without common_metrics. After a failed step, only with
  // whole_steps. Both return FailedPrecondition if the state cannot be continued: an update failed
  // halfway, or training diverged.
  absl::StatusOr<TrainingState> StateAlone() { return StateWith(/*all_ranks=*/false); }
  // What a checkpoint holds besides of an optimizer with a sparse sum; nothing of others. All ranks
  // call GatherExchange together, when settled; Restore comes with RestoreExchange.
  absl::StatusOr<std::optional<ExchangeState>> GatherExchange() {
    return engine_->GatherExchange();
  }
  absl::Status RestoreExchange(const std::optional<ExchangeState>& state) {
    return engine_->RestoreExchange(state);
  }
  // Continues from a state: the next Train begins in the middle of an epoch if necessary, and gives
  // the results of a run that was never interrupted. On another number of ranks, or with other
  // batches, every sample of that epoch is still used once, and its metrics cover all of them;
  // schedules that depend on the step (warm-up, cosine) continue as if the whole run had had the
  // new steps. Reductions of the learning rate stay as they were. The caller has restored
  // parameters and optimizer state, after PrepareForTraining: what is written into them after
  // Restore replaces an average of the parameters. InvalidArgument for a state with another seed or
  // other metrics; Train returns it for data with which the epoch cannot continue
  // (sampler_settings.h).
  absl::Status Restore(const TrainingState& state);
  // Whether Restore would accept it.
  absl::Status CheckState(const TrainingState& state) const;
  // Whether a loss was NaN or infinite on any rank since the last Train or Restore began; with
  // these parameters it would be so again.
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
  absl::Status ResumeEpoch(Loader& training, const SamplerSettings& now);
  absl::Status EndEpoch(Loader& training);
  absl::Status RunPass(Loader& loader, Pass& pass, MetricAverages& averages,
                       std::span<Callback* const> callbacks);
  absl::Status RunBatch(const Batch* batch, const Pass& pass, MetricAverages& averages);
  absl::Status CatchUp(MetricAverages& averages);
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
