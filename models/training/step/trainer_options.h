// How a network is trained: what a StepEngine, and a Trainer around one, are made with.
// Values out of range are refused where a StepEngine is made.

#ifndef DTNN_MODELS_TRAINING_STEP_TRAINER_OPTIONS_H_
#define DTNN_MODELS_TRAINING_STEP_TRAINER_OPTIONS_H_

#include <cstdint>
#include <memory>
#include <string>

#include "comm/communicator.h"
#include "comm/model_sync.h"
#include "comm/ranks/gradients/gradient_reducer.h"
#include "models/plan/fusion.h"
#include "models/training/privacy/private_gradients.h"
#include "models/training/step/metric_averages.h"
#include "optim/optimizers/optimizer.h"

namespace dtnn {

class BestOf;

struct TrainerOptions {
  MetricSet metric_set;                             // the loss is required
  std::shared_ptr<const Loss> training_loss = {};   // in its place in training; null: the same
  std::shared_ptr<const Optimizer> optimizer = {};  // required to train
  double learning_rate = 0.01;
  // Batches whose gradients make one update: the gradient is the mean over the samples of all. An
  // epoch's last update takes the batches that are left.
  int64_t accumulate_steps = 1;
  // The gradient is shortened to this Euclidean norm where it is longer; 0: never.
  double clip_norm = 0;
  // Differential privacy for each sample: of one rank, without accumulation, on a CPU, with a
  // loader with Poisson sampling. Loss and metrics of training have no noise, so a callback that
  // changes the learning rate or ends training by them breaks the bound.
  PrivateTraining privacy = {};
  std::string conv_variant = "auto";
  // Chooses the variants of convolutions by timing; null: a rule does. Must outlive what is made
  // with it. Ranks that are to choose alike share its decisions first (share_decisions.h).
  BestOf* best_of = nullptr;
  uint64_t random_seed = 57005;          // dropout of each rank has its own of it
  Fusions fusions = {};                  // of evaluation
  Communicator* communicator = nullptr;  // null: one rank; must outlive what is made with it
  // Batch normalisation sees the samples of all ranks in a training step; else each rank normalises
  // its own with their statistics, and running statistics are averaged over the ranks.
  bool sync_batch_norm = false;
  // With their defaults, and common data, models are alike on all ranks
  // (models/training/ranks/synchronization.h). Loaders made for one rank while there are several:
  // each rank trains and evaluates on data of its own, in as many steps as the rank with the most.
  ModelSyncOptions model_sync = {};
  bool initial_model_sync = true, final_model_sync = true;
  // How gradients are exchanged; models and running statistics too where it has a `sum`.
  GradientReducerOptions reducer = {};
  // In buckets of a size that is measured, where the communicator exchanges them.
  bool choose_buckets = false;
  // Where a device allows it, the work of a step is captured and replayed as one operation
  // (step_graphs.h): the same bits, fewer calls.
  bool graphs = true;
  // False: workspaces are allocated for each call of a layer (PlanOptions::workspaces).
  bool keep_workspaces = true;
  // A step that fails leaves everything as it was after the update before: parameters, running
  // statistics, metrics, counts. It can then be saved, for instance when a rank was lost. Updates
  // do not begin before the exchange has ended.
  bool whole_steps = false;
  // After every update all ranks know the metrics of all samples of the epoch so far, so that none
  // are missing when a rank is lost; one more small exchange per update. Needs whole_steps.
  bool common_metrics = false;
};

}  // namespace dtnn

#endif  // DTNN_MODELS_TRAINING_STEP_TRAINER_OPTIONS_H_
