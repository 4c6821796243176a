// The cluster of a prediction: what its links cost, measured between the ranks that are there, set
// by the user, or assumed.

#ifndef DTNN_APPS_SCALE_MODEL_CLUSTER_H_
#define DTNN_APPS_SCALE_MODEL_CLUSTER_H_

#include <string>

#include "absl/status/statusor.h"
#include "apps/scale_model/run.h"
#include "comm/all_reduce_algorithm.h"
#include "comm/communicator.h"
#include "comm/ranks/gradients/cost_model.h"

namespace dtnn {

struct ScaleModelCluster {
  Cluster cluster;      // of the ranks that are there
  Placement placement;  // likewise
  // Where its numbers are from: "between ranks 0 and 1", "as given", "assumed".
  std::string network_source, node_source;
};

// All ranks call it together.
absl::StatusOr<ScaleModelCluster> MeasureCluster(const ScaleModelOptions& options,
                                                 Communicator* communicator);

}  // namespace dtnn

#endif  // DTNN_APPS_SCALE_MODEL_CLUSTER_H_
