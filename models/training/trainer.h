// Trains and evaluates a network: epochs over loaders, one optimizer step per batch, data parallel
// over the ranks of a communicator.
//
// Every rank takes its share of each step's samples; gradients are scaled by one over the samples
// of the whole step and summed over the ranks, so the result is the mean over all samples whatever
// the shares; the exchange hides behind the backward pass unless it blocks. Parameters are
// broadcast from rank 0 before the first step; running statistics, which each rank tracks on its
// samples, are averaged at the end of every epoch, of Train, and by State. A rank whose pass fails
// aborts the communicator, so that the others end too.

#ifndef DTNN_MODELS_TRAINING_TRAINER_H_
#define DTNN_MODELS_TRAINING_TRAINER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "comm/communicator.h"
#include "comm/gradient_reducer.h"
#include "data/loading/loader.h"
#include "kernels/add/add.h"
#include "models/checkpoint/training_state.h"
#include "models/graph/graph.h"
#include "models/parameters/parameter_store.h"
#include "models/plan/fusion.h"
#include "models/plan/plan.h"
#include "models/training/callback.h"
#include "models/training/communicator_exchange.h"
#include "models/training/metric_averages.h"
#include "models/training/synchronization.h"
#include "models/training/updater.h"
#include "optim/optimizers/optimizer.h"

namespace dtnn {

struct TrainerOptions {
  MetricSet metric_set;                             // the loss is required
  std::shared_ptr<const Optimizer> optimizer = {};  // required to train
  double learning_rate = 0.01;
  // Batches whose gradients make one update: the gradient is the mean over the samples of all. An
  // epoch's last update takes the batches that are left.
  int64_t accumulate_steps = 1;
  // The gradient is shortened to this Euclidean norm where it is longer; 0: never.
  double clip_norm = 0;
  std::string conv_variant = "i2c";
  uint64_t random_seed = 57005;          // dropout uses random_seed + rank
  Fusions fusions = {};                  // of evaluation
  Communicator* communicator = nullptr;  // null: one rank; outlives the trainer
  // Batch normalisation sees the samples of all ranks in a training step; else each rank normalises
  // its own with their statistics, and running statistics are averaged over the ranks.
  bool sync_batch_norm = false;
  // With their defaults, and common data, models are alike on all ranks
  // (models/training/synchronization.h). Loaders made for one rank while there are several: each
  // rank trains and evaluates on data of its own, in as many steps as the rank with the most.
  ModelSyncOptions model_sync = {};
  bool initial_model_sync = true, final_model_sync = true;
  GradientReducerOptions reducer = {};  // how gradients are exchanged
  bool choose_buckets = false;          // in buckets of a size that is measured
  // A step that fails leaves everything as it was behind the update before: parameters, running
  // statistics, figures. StateAlone() can then be saved, for instance when a rank was lost. Updates
  // do not begin before the exchange has ended.
  bool whole_steps = false;
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
  // For callbacks: Train returns when all callbacks of the moment have run. From OnBatchEnd, that
  // leaves the epoch unfinished, to be gone on with by another Train or another process. An
  // Evaluate in progress ends too, and with it the Train that it is called from.
  void Stop() { stopped_ = true; }
  bool stopped() const { return stopped_; }

  // Where the run stands, for a checkpoint: after Train, or inside OnBatchEnd and OnEpochEnd of
  // training, when settled(). All ranks call it together. What schedulers know is for the caller to
  // add.
  absl::StatusOr<TrainingState> State();
  // The same without the other ranks, who may be gone: the figures of the epoch in progress are of
  // this rank's samples. After a step that failed, with whole_steps only. FailedPrecondition, from
  // both, where nobody should go on from here: parameters are torn between two steps, or diverged.
  absl::StatusOr<TrainingState> StateAlone();
  // Whether a loss was no number, on this rank or on another, since the last Train or Restore
  // began: with these parameters it would be again.
  bool diverged() const { return diverged_; }
  // Goes on from a state: the next Train begins in the middle of an epoch if need be, and gives the
  // numbers of a run that never stopped. On another number of ranks, or with other batches, every
  // sample of that epoch still comes once, and its figures are of all of them; steps then count,
  // for schedules that follow them (warm-up, cosine), as if the whole run had had the steps of now.
  // The rate that schedules have lowered is kept as it was, whatever the ranks. Parameters and
  // slots are for the caller to bring back, after PrepareForTraining. InvalidArgument for a state
  // of another seed or other figures; from Train, for data that the epoch cannot go on with
  // (sampler_settings.h).
  absl::Status Restore(const TrainingState& state);
  // Whether Restore would take it.
  absl::Status CheckState(const TrainingState& state) const;
  // What Train begins with, for who must know earlier whether the data fit: brings `training` to
  // the place where the epochs to come begin. All ranks call it together.
  absl::Status BeginEpochs(Loader& training);

  // One pass in evaluation mode. Callbacks of training may call it.
  absl::StatusOr<MetricAverages> Evaluate(Loader& loader, std::span<Callback* const> callbacks);

  // One batch: the body of Train, for benchmarks and loops of one's own. Adds the batch's figures
  // to `averages` where it is not null. Every accumulate_steps-th call updates the parameters, and
  // one with `last`. A batch without samples is the part of a rank whose data have come to their
  // end. PrepareForTraining comes first.
  absl::Status Step(const Batch& batch, MetricAverages* averages, bool last = false);
  // Whether all gradients are in the parameters: only then State() is complete.
  bool settled() const { return pending_batches_ == 0; }
  absl::Status PrepareForTraining(int64_t max_batch);

  // A step's rate is the product of the two: a rate that schedules lower now and then, and a factor
  // that follows the step's number (a warm-up).
  double learning_rate() const { return learning_rate_; }
  void set_learning_rate(double rate) { learning_rate_ = rate; }
  void set_learning_rate_factor(double factor) { learning_rate_factor_ = factor; }
  double step_learning_rate() const { return learning_rate_ * learning_rate_factor_; }
  // Null: one rank.
  Communicator* communicator() const { return options_.communicator; }
  // Updates of the parameters, on whichever rank had data.
  int64_t steps_done() const { return steps_done_; }
  // Samples of an epoch, those of its validation included, over all ranks; as of the last passes of
  // Train.
  int64_t epoch_samples() const { return training_samples_ + validation_samples_; }
  // What the training passes of Train have taken so far, callbacks during a pass included but
  // neither validation nor what happens between passes; and for how much of that this rank could do
  // nothing but wait for others, whatever was exchanged (Communicator::waited_seconds).
  double training_seconds() const { return training_seconds_; }
  double waited_seconds() const { return waited_seconds_; }
  // Epochs that have come to their end.
  int64_t epochs_done() const { return epochs_done_; }
  const PlanMemory* training_memory() const {
    return training_plan_ == nullptr ? nullptr : &training_plan_->memory();
  }

 private:
  Trainer(const Graph& graph, ParameterStore& store, DeviceContext& context,
          const TrainerOptions& options);

  absl::Status PrepareForEvaluation(int64_t max_batch);
  absl::Status RunPass(Loader& loader, Pass& pass, MetricAverages& averages,
                       std::span<Callback* const> callbacks);
  absl::Status RunEpochs(Loader& training, Loader* validation, int64_t epochs,
                         std::span<Callback* const> callbacks);
  absl::Status EvaluateBatch(const Batch& batch, const Pass& pass, MetricAverages& averages);
  absl::Status GoOnWithEpoch(Loader& training, const SamplerSettings& now);
  absl::Status EndEpoch(Loader& training);
  absl::Status Diverged(const Batch& batch, double loss);
  absl::Status Ended(absl::Status status);
  int64_t SamplesOf(const Batch& batch) const;
  bool in_epoch() const { return step_in_epoch_ > 0 || sampler_.first > 0; }
  absl::Status RunStep(const Batch& batch, bool watched, bool last);
  absl::Status Remember();
  absl::Status Undo();
  absl::Status SaveStatistics();
  absl::Status RestoreStatistics();
  absl::Status Accumulate();
  absl::Status Update();
  absl::StatusOr<TrainingState> StateWith(bool all_ranks);
  absl::Status Combine(std::vector<double>& values);
  absl::StatusOr<std::unique_ptr<Plan>> Compile(int64_t batch, bool training);

  const Graph graph_;
  ParameterStore* store_;
  DeviceContext* context_;
  TrainerOptions options_;
  double learning_rate_, learning_rate_factor_ = 1;
  int64_t steps_done_ = 0, batches_done_ = 0, epochs_done_ = 0;
  int64_t pending_batches_ = 0;  // whose gradients wait for an update
  // Of the first of them: what scaled the gradients. Over all ranks, or, where gradients are means
  // of ranks, of this one.
  int64_t first_samples_ = 0;
  int64_t pending_samples_ = 0;  // of all of them
  int64_t step_in_epoch_ = 0;    // batches done of the epoch in progress, behind sampler_.first
  MetricAverages trained_;       // of what is done of that epoch
  bool trained_by_all_ = false;  // all ranks' figures; else of this rank
  // Of the last Train, or of the run that was restored; the training loader leaves out `first`.
  SamplerSettings sampler_;
  bool stopped_ = false;
  bool ended_ = false;  // by a callback, in the run that was restored
  bool diverged_ = false;
  int64_t training_samples_ = 0, validation_samples_ = 0;  // of their last passes
  double training_seconds_ = 0, waited_seconds_ = 0;
  int64_t training_batch_ = 0, evaluation_batch_ = 0;
  std::unique_ptr<Add> add_;
  Tensor accumulated_;                            // gradients of the batches that wait
  std::optional<CommunicatorExchange> exchange_;  // of synchronised batch normalisation
  Synchronization sync_;
  std::unique_ptr<Updater> updater_;
  std::unique_ptr<Plan> training_plan_, evaluation_plan_;
  // With whole_steps, what a failure goes back to. Step and figures: where batches may wait.
  int64_t settled_step_ = 0;
  MetricAverages settled_figures_;
  Tensor settled_statistics_;  // on the host; empty where there are none
};

}  // namespace dtnn

#endif  // DTNN_MODELS_TRAINING_TRAINER_H_
