// What a client of a federation does in one round: training from the parameters that it got.
//
// What becomes of them depends on the round, the parameters, the data and the seed alone: optimizer
// state and step counts begin anew in each round, and the data's order is a function of the round.
// So a client that was killed, and comes again, gives the same, and several may share a trainer.

#ifndef DTNN_MODELS_RUN_FEDERATED_TRAIN_ROUND_H_
#define DTNN_MODELS_RUN_FEDERATED_TRAIN_ROUND_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "comm/federation/client/round_task.h"
#include "comm/federation/messages.h"
#include "models/callbacks/last_metrics.h"
#include "models/parameters/parameter_store.h"
#include "models/run/options/run_options.h"
#include "models/run/samples/make_loaders.h"
#include "models/training/callback.h"
#include "models/training/trainer.h"
#include "optim/optimizers/optimizer.h"
#include "optim/optimizers/proximal.h"

namespace dtnn {

// Everything must outlive its use.
struct RoundTraining {
  const RunOptions& options;
  ParameterStore& store;  // on the host, float32
  Trainer& trainer;       // made with `optimizer`, and prepared for training
  ProximalOptimizer& optimizer;
  const LastMetrics& metrics;  // one of the callbacks
  std::span<Callback* const> callbacks;
};

// The updates of its parameters that a client makes in a round, with so many batches in an
// epoch; 1 at least, and federation::kMostSteps where there are more.
int64_t StepsOfRound(const RunOptions& options, int64_t batches);

// FailedPrecondition where updates are weighed by their number (RoundTask::by_steps), and those of
// this optimizer, or so many in a round, cannot be.
absl::Status CheckCountOfSteps(const Optimizer& optimizer, int64_t steps = 1);
// FailedPrecondition where there are control variates (RoundTask::control), and the optimizer's
// steps are not those of their formula.
absl::Status CheckControlled(const Optimizer& optimizer);

// What a client says that has no update for this reason.
inline constexpr char kDiverged[] = "its training has diverged";

struct TrainedRound {
  federation::Report report = {};
  std::string diverged = {};  // why there is none
  // Where there are control variates, what the client's changes by: comm/federation's strategy.h.
  std::vector<float> change = {};
};

// From the parameters in the store: those that `task` brought, and those that stay. `control`: the
// client's control variate, of as many numbers as the task's, which are those of the store's
// gradients. Where a callback has stopped the trainer it returns early, without an error.
absl::StatusOr<TrainedRound> TrainRound(const RoundTraining& training,
                                        const federation::RoundTask& task, const Loaders& loaders,
                                        std::span<const float> control = {});

}  // namespace dtnn

#endif  // DTNN_MODELS_RUN_FEDERATED_TRAIN_ROUND_H_
