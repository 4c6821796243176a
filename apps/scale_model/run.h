// What scale_model does: measures a training step and the network here, predicts steps on more
// ranks by formula (comm/ranks/gradients/cost_model.h), and, on several ranks, compares with steps
// it measures.

#ifndef DTNN_APPS_SCALE_MODEL_RUN_H_
#define DTNN_APPS_SCALE_MODEL_RUN_H_

#include <cstdint>
#include <ostream>
#include <string>

#include "absl/status/status.h"
#include "apps/flags/options.h"
#include "apps/scale_model/machine.h"
#include "comm/communicator.h"

namespace dtnn {

struct ScaleModelOptions {
  Options run;                  // comm_bucket_mb auto: the best of each prediction
  std::string model_file = {};  // whose network it is, instead of run.network.name
  bool layers = false;          // tell when each layer's gradients are final
  // Where 0: as measured here, or assumed where there is nothing to measure. Seconds, bytes per
  // second.
  double network_lat = 0, network_bw = 0;  // from node to node
  double node_lat = 0, node_bw = 0;        // within one
  MachineOptions machine = {};
  std::string network_alg = "all";  // to predict: vdg, bta, or all that there are here
  int64_t ranks_per_node = 0;       // 0: as here
  int64_t max_ranks = 4096;
  int64_t steps = 20;        // timed
  double comm_timeout = 60;  // seconds
};

// Called by every rank, all with the same options; `communicator` is null for one process alone.
// Writes on rank 0.
absl::Status RunScaleModel(const ScaleModelOptions& options, Communicator* communicator,
                           std::ostream& out);

}  // namespace dtnn

#endif  // DTNN_APPS_SCALE_MODEL_RUN_H_
