// The network that an aggregator averages. The aggregator needs no data: its options, or the file
// of a saved model, say which samples and classes there are.

#ifndef DTNN_APPS_AGGREGATOR_NETWORK_H_
#define DTNN_APPS_AGGREGATOR_NETWORK_H_

#include <optional>

#include "absl/status/statusor.h"
#include "apps/aggregator/aggregator_flags.h"
#include "comm/federation/messages.h"
#include "models/graph/graph.h"
#include "models/training/step/metric_averages.h"
#include "tensor/format.h"

namespace dtnn {

struct AveragedNetwork {
  Graph graph;
  // What samples of its data set were before training cropped or resized them, where a saved model
  // says so (models/run/parts/model_file.h).
  std::optional<ImageExtents> data_sample;
  federation::Classes classes;  // of its outputs
  MetricSet metric_set;
};

// Options that a saved model decides, and that were not given, are set in `flags`. Usage errors for
// options that contradict each other or the file, and where the form of the clients' data is open.
absl::StatusOr<AveragedNetwork> MakeAveragedNetwork(AggregatorFlags& flags);

}  // namespace dtnn

#endif  // DTNN_APPS_AGGREGATOR_NETWORK_H_
