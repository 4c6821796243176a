// Trains and evaluates a network: epochs over loaders, one optimizer step per batch, data parallel
// over the ranks of a communicator.
//
// Every rank takes its share of each step's samples; gradients are scaled by one over the samples
// of the whole step and summed over the ranks, so the result is the mean over all samples whatever
// the shares. Parameters are broadcast from rank 0 before the first step. A rank whose pass fails
// aborts the communicator, so that the others end too.

#ifndef DTNN_MODELS_TRAINER_H_
#define DTNN_MODELS_TRAINER_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "comm/communicator.h"
#include "data/loader.h"
#include "models/averages.h"
#include "models/callback.h"
#include "models/graph.h"
#include "models/parameter_store.h"
#include "models/plan.h"
#include "optim/optimizer.h"

namespace dtnn {

struct TrainerOptions {
  Figures figures;                             // the loss is required
  std::shared_ptr<const Optimizer> optimizer;  // required to train
  double learning_rate = 0.01;
  std::string conv_variant = "i2c";
  uint64_t random_seed = 57005;          // dropout uses random_seed + rank
  Communicator* communicator = nullptr;  // null: one rank
};

class Trainer {
 public:
  // The store and the context must outlive the trainer.
  static absl::StatusOr<std::unique_ptr<Trainer>> Create(const Graph& graph, ParameterStore& store,
                                                         DeviceContext& context,
                                                         const TrainerOptions& options);

  // `epochs` epochs over `training`, each followed by a pass over `validation` where there is one.
  absl::Status Train(Loader& training, Loader* validation, int64_t epochs,
                     std::span<Callback* const> callbacks);

  // One pass in evaluation mode.
  absl::StatusOr<Averages> Evaluate(Loader& loader, std::span<Callback* const> callbacks);

  // One optimizer step on a batch: the body of Train, for benchmarks and loops of one's own. Adds
  // the batch's figures to `averages` where it is not null. PrepareForTraining comes first.
  absl::Status Step(const Batch& batch, Averages* averages);
  absl::Status PrepareForTraining(int64_t max_batch);

  double learning_rate() const { return learning_rate_; }
  void set_learning_rate(double rate) { learning_rate_ = rate; }
  int64_t steps_done() const { return steps_done_; }
  // Epochs that the last Train ran to their end.
  int64_t epochs_done() const { return epochs_done_; }
  const PlanMemory* training_memory() const {
    return training_plan_ == nullptr ? nullptr : &training_plan_->memory();
  }

 private:
  Trainer(const Graph& graph, ParameterStore& store, DeviceContext& context,
          const TrainerOptions& options);

  absl::Status PrepareForEvaluation(int64_t max_batch);
  absl::StatusOr<Averages> RunPass(Loader& loader, Pass& pass,
                                   std::span<Callback* const> callbacks);
  absl::StatusOr<Averages> RunBatches(Loader& loader, Pass& pass,
                                      std::span<Callback* const> callbacks);
  absl::Status Combine(Averages& averages);
  absl::StatusOr<std::unique_ptr<Plan>> Compile(int64_t batch, bool training);

  const Graph graph_;
  ParameterStore* store_;
  DeviceContext* context_;
  TrainerOptions options_;
  double learning_rate_;
  int64_t steps_done_ = 0, epochs_done_ = 0;
  int64_t training_batch_ = 0, evaluation_batch_ = 0;
  std::unique_ptr<Update> update_;
  std::unique_ptr<Plan> training_plan_, evaluation_plan_;
};

}  // namespace dtnn

#endif  // DTNN_MODELS_TRAINER_H_
