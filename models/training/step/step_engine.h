// Training step by step: forward and backward pass over a batch, the exchange of gradients, the
// update of the parameters; and the evaluation of a batch. It does not know loaders or epochs: the
// Trainer, benchmarks and training loops of your own are built on it.
//
// Every rank takes its share of each step's samples; gradients are scaled by one over the samples
// of the whole step and summed over the ranks, so the result is the mean over all samples whatever
// the shares; the exchange overlaps with the backward pass unless it blocks. Parameters are
// broadcast from rank 0 before the first step; running statistics are tracked by each rank on its
// samples until AverageStatistics.

#ifndef DTNN_MODELS_TRAINING_STEP_STEP_ENGINE_H_
#define DTNN_MODELS_TRAINING_STEP_STEP_ENGINE_H_

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "comm/federation/privacy/renyi.h"
#include "data/loading/loader.h"
#include "kernels/add/add.h"
#include "kernels/transfers/late_reads.h"
#include "models/graph/graph.h"
#include "models/parameters/parameter_average.h"
#include "models/parameters/parameter_store.h"
#include "models/plan/plan.h"
#include "models/training/privacy/private_steps.h"
#include "models/training/ranks/communicator_exchange.h"
#include "models/training/ranks/rank_shares.h"
#include "models/training/ranks/synchronization.h"
#include "models/training/step/metric_averages.h"
#include "models/training/step/step_graphs.h"
#include "models/training/step/trainer_options.h"
#include "models/training/step/updater.h"

namespace dtnn {

class StepEngine {
 public:
  // The store and the context must outlive the engine.
  static absl::StatusOr<std::unique_ptr<StepEngine>> Create(const Graph& graph,
                                                            ParameterStore& store,
                                                            DeviceContext& context,
                                                            const TrainerOptions& options);

  // Before the first Step, or Evaluate, and before one with a larger batch. All ranks call the
  // first together.
  absl::Status PrepareForTraining(int64_t max_batch);
  absl::Status PrepareForEvaluation(int64_t max_batch);

  // Trains on one batch. Every accumulate_steps-th call updates the parameters, and one with
  // `last`. Adds the batch's loss and metrics to `averages` where it is not null: the same ones for
  // all batches of an update. A rank without further data passes a batch without samples.
  // OutOfRange if `averages` are given and the loss is NaN or infinite on any rank (training has
  // diverged), and for no other reason.
  //
  // A device that only queues work (DeviceTraits::replays_work) is not waited for: the call adds,
  // and judges, what the step before has left, and CatchUp does so for the last one. The parameters
  // stay as they were when the loss became NaN.
  absl::Status Step(const Batch& batch, MetricAverages* averages, bool last = false);
  // Adds to the averages of the steps so far what Step has not yet, after the last Step of a pass
  // and before a state is saved. OutOfRange as Step.
  absl::Status CatchUp(MetricAverages& averages);
  // The sum of the losses of this rank's samples in the last Step, also where it was given no
  // averages and the loss is not finite; waits for the device. After a Step with samples.
  absl::StatusOr<double> LossSum();
  // Puts the average of the parameters, where the optimizer keeps one, in their place until the
  // next Step (parameter_average.h). Evaluate does so too.
  absl::Status ShowAverage() { return average_.Show(steps_done_); }
  // Adds the loss and metrics of a batch in evaluation mode. OutOfRange where the loss is NaN or
  // infinite; `data` names what the batch is of.
  absl::Status Evaluate(const Batch& batch, std::string_view data, MetricAverages& averages);
  // OutOfRange where float16 has found no scale of the loss at which gradients are finite: training
  // has diverged, on all ranks alike. Waits for the device.
  absl::Status CheckLossScale() const;
  // Averages without samples yet.
  MetricAverages NewAverages() const {
    const bool image = graph_.output_shape().rank() == 3;
    return MetricAverages(options_.metric_set, OutputsOf(graph_),
                          image ? std::optional(graph_.format()) : std::nullopt);
  }

  // The rate of the next update.
  double learning_rate() const { return learning_rate_; }
  void set_learning_rate(double rate) { learning_rate_ = rate; }

  // Updates of the parameters so far, on any rank that had data. Set for a resumed run, whose store
  // is that of a run after ShowAverage; gradients that wait for an update are dropped.
  int64_t steps_done() const { return steps_done_; }
  void set_steps_done(int64_t steps);
  // Begins a pass over data of which ranks have `shares`, with `step` steps already done. Dropout
  // depends on the number of a batch in the run: `first_batch` for the pass's first.
  void BeginPass(const RankShares& shares, int64_t step, int64_t first_batch);
  // Batches of the pass that are done. A failure with whole_steps subtracts those without an
  // update.
  int64_t step() const { return step_; }

  // Whether all gradients were applied to the parameters, and whether an update has failed halfway,
  // so that only some parameters are updated.
  bool settled() const { return pending_batches_ == 0; }
  bool torn() const { return updater_ != nullptr && updater_->torn(); }

  // With differential privacy for each sample (private_gradients.h), before the first step: the
  // probability with which a step takes a sample, and how many it takes on average.
  // InvalidArgument for a probability outside (0, 1] or a mean that is not above 0.
  absl::Status SetSampling(double probability, double mean);
  // What steps have revealed of a sample, before anyone has seen the parameters after them; nothing
  // without differential privacy.
  std::optional<double> epsilon() const;
  // By order, as RenyiAccountant keeps it. False for what no run can have spent.
  const std::vector<double>& privacy_spent() const { return spent_.spent(); }
  bool RestorePrivacySpent(const std::vector<double>& spent);

  // Averages over the ranks: of running statistics after a pass and before saving; after the last
  // pass also of models (synchronization.h). All ranks call them together.
  absl::Status AverageStatistics() { return sync_.AverageStatistics(*store_); }
  absl::Status EndTraining() { return sync_.EndTraining(*store_); }
  // Gives all ranks, which call it together, the metrics of the samples of all.
  absl::Status Combine(MetricAverages& averages) const;

  // The state of a sparse sum, nothing for other optimizers: for checkpoints (updater.h). After
  // PrepareForTraining.
  absl::StatusOr<std::optional<ExchangeState>> GatherExchange() {
    return updater_->GatherExchange();
  }
  absl::Status RestoreExchange(const std::optional<ExchangeState>& state) {
    return updater_->RestoreExchange(state);
  }

  const TrainerOptions& options() const { return options_; }
  // None before PrepareForTraining (models/plan/plan.h).
  std::vector<std::string> TrainingAlgorithms(bool alternatives = false) const {
    return training_plan_ == nullptr ? std::vector<std::string>()
                                     : training_plan_->Algorithms(alternatives);
  }
  // Null before PrepareForTraining.
  const PlanMemory* training_memory() const {
    return training_plan_ == nullptr ? nullptr : &training_plan_->memory();
  }
  const PlanLayout* training_layout() const {
    return training_plan_ == nullptr ? nullptr : &training_plan_->layout();
  }
  // None before PrepareForTraining.
  std::vector<LayerMemory> TrainingMemoryByLayer() const {
    return training_plan_ == nullptr ? std::vector<LayerMemory>() : training_plan_->MemoryByLayer();
  }
  // Predictions of the last Evaluate, on the host.
  const Tensor& predictions() const { return evaluation_plan_->predictions(); }
  // Euclidean norm of the gradients of the last update whose results are known, before they were
  // clipped; nothing where nobody clips.
  std::optional<double> gradient_norm() const { return gradient_norm_; }
  // The mean of those of the pass so far.
  std::optional<double> mean_gradient_norm() const {
    return norms_ == 0 ? std::nullopt : std::optional(norm_sum_ / double(norms_));
  }
  // That, or, where nobody clips, what reading all gradients of the last update gives (updater.h).
  absl::StatusOr<std::optional<double>> MeasureGradientNorm() const;
  // The use of workspaces by training and evaluation, without keep_workspaces.
  const WorkspaceUse& workspace_use() const { return workspace_use_; }
  // Steps that are captured, or why they are not (step_graphs.h).
  const StepGraphs& graphs() const { return graphs_; }

 private:
  StepEngine(const Graph& graph, ParameterStore& store, DeviceContext& context,
             const TrainerOptions& options);

  absl::StatusOr<std::unique_ptr<Plan>> Compile(int64_t batch, bool training, ParameterStore& store,
                                                DeviceContext& context);
  absl::Status AllocateForTraining();
  int64_t SamplesOf(const Batch& batch) const;
  absl::Status RunStep(const Batch& batch, bool watched, bool last);
  absl::Status RunPrivateStep(const Batch& batch);
  absl::Status AddTo(MetricAverages& averages, const Batch& batch);
  absl::Status RunOnDevice(const Batch& batch, const StepGraphs::Kind& kind,
                           const Plan::GradientsReady& ready);
  absl::Status Update();
  absl::Status CheckLoss(const Batch& batch);
  absl::Status ReadLater(const Batch& batch);
  absl::Status ReadOldest(const Batch* batch, MetricAverages& averages);
  std::string WhereNotFinite(const Batch& batch);
  absl::Status Diverged(double loss, int64_t steps_done, double learning_rate,
                        std::string_view where) const;
  absl::Status Remember(const MetricAverages* averages);
  absl::Status Undo(MetricAverages* averages);
  void AddGradientNorm(double norm);

  const Graph graph_;
  ParameterStore* store_;
  DeviceContext* context_;
  const TrainerOptions options_;
  double learning_rate_;
  int64_t steps_done_ = 0;
  int64_t step_ = 0, first_batch_ = 0;
  int64_t pending_batches_ = 0;  // whose gradients wait for an update
  int64_t pending_samples_ = 0;  // of all of them
  // Of the first of them: what scaled the gradients. Over all ranks, or, where gradients are means
  // of ranks, of this one.
  int64_t first_samples_ = 0;
  int64_t training_batch_ = 0, evaluation_batch_ = 0;
  std::unique_ptr<Add> add_;
  Tensor accumulated_;                            // gradients of the batches that wait
  std::optional<CommunicatorExchange> exchange_;  // of synchronised batch normalisation
  MetricAverages update_averages_;                // with common_metrics: of the batches that wait
  Synchronization sync_;
  ParameterAverage average_;
  std::unique_ptr<Updater> updater_;
  WorkspaceUse workspace_use_;
  std::unique_ptr<Plan> training_plan_, evaluation_plan_;
  // With differential privacy, where training_plan_ takes one sample.
  struct Sampling {
    double probability = 0, mean = 0;
  };
  Sampling sampling_;
  federation::RenyiAccountant spent_;
  std::unique_ptr<PrivateSteps> private_;  // after PrepareForTraining; else null
  std::optional<double> gradient_norm_;
  double norm_sum_ = 0;  // of the updates of the pass
  int64_t norms_ = 0;
  // On devices whose results are read later. What the host knows of the steps that wait, oldest
  // first.
  struct Waiting {
    Tensor targets;
    int64_t steps_done = 0;
    double learning_rate = 0;
    bool updated = false;
  };
  const bool late_;
  LateReads late_reads_;
  std::array<Waiting, 2> waiting_;
  size_t newest_ = 0;
  StepGraphs graphs_;  // of the plan and the updater
  // With whole_steps, what a failure goes back to. Step and averages: where batches may wait.
  int64_t settled_step_ = 0;
  MetricAverages settled_averages_;
  Tensor settled_statistics_;  // on the device; empty where there are none
};

}  // namespace dtnn

#endif  // DTNN_MODELS_TRAINING_STEP_STEP_ENGINE_H_
