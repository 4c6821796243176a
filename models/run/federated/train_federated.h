// The launcher's training as a client of a federation: in each round it takes over the aggregator's
// parameters, trains some epochs on its own data, and sends what has become of them
// (train_round.h). Parameters that stay with it (own_parameters.h) begin with those in the store.

#ifndef DTNN_MODELS_RUN_FEDERATED_TRAIN_FEDERATED_H_
#define DTNN_MODELS_RUN_FEDERATED_TRAIN_FEDERATED_H_

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "models/callbacks/last_metrics.h"
#include "models/graph/graph.h"
#include "models/parameters/parameter_store.h"
#include "models/run/federated/federation_options.h"
#include "models/run/options/run_options.h"
#include "models/run/samples/make_loaders.h"
#include "models/training/callback.h"
#include "models/training/trainer.h"
#include "optim/optimizers/proximal.h"

namespace dtnn {

// Everything must outlive the call.
struct FederatedTraining {
  const RunOptions& options;
  const ClientPlace& place;
  const Graph& graph;
  ParameterStore& store;  // on the host, float32
  Trainer& trainer;       // made with `optimizer`
  ProximalOptimizer& optimizer;
  Loaders& loaders;
  const LastMetrics& metrics;  // one of the callbacks
  std::span<Callback* const> callbacks;
  std::span<const std::string> class_names;          // of the outputs; empty: not known
  std::function<void(std::string_view)> tell, warn;  // the second of a line
};

// Until the aggregator says that it is over; the store holds the final parameters then, and among
// them the client's own. Returns
// early, without an error, where a callback has stopped the trainer. Cancelled where a signal came
// while it waited.
absl::Status TrainFederated(const FederatedTraining& training);

}  // namespace dtnn

#endif  // DTNN_MODELS_RUN_FEDERATED_TRAIN_FEDERATED_H_
