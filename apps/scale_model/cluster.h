// The cluster of a prediction: what its links cost, measured between the ranks that are there, set
// by the user, or assumed.

#ifndef DTNN_APPS_SCALE_MODEL_CLUSTER_H_
#define DTNN_APPS_SCALE_MODEL_CLUSTER_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "apps/scale_model/run.h"
#include "comm/communicator.h"
#include "comm/cost_model.h"

namespace dtnn {

// What a rank knows of its host: Communicator::node_rank and node_size, and a number made of the
// host's name.
struct HostView {
  int64_t node_rank = 0, node_size = 1, name = 0;
};

// The host of every rank, numbered from 0 in the order of their first ranks. Names of hosts may be
// equal, as those of containers may: they decide only where ranks are placed neither host by host
// nor in turns.
std::vector<int> HostsOfRanks(std::span<const HostView> ranks);

struct ScaleModelCluster {
  Cluster cluster;  // of the ranks that are there
  // Where its figures are from: "between ranks 0 and 1", "as given", "assumed".
  std::string network_source, node_source;
};

// All ranks call it together.
absl::StatusOr<ScaleModelCluster> MeasureCluster(const ScaleModelOptions& options,
                                                 Communicator* communicator);

}  // namespace dtnn

#endif  // DTNN_APPS_SCALE_MODEL_CLUSTER_H_
