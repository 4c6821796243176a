// Builds the network that options describe.

#ifndef DTNN_MODELS_RUN_PARTS_MAKE_MODEL_H_
#define DTNN_MODELS_RUN_PARTS_MAKE_MODEL_H_

#include <optional>

#include "absl/status/statusor.h"
#include "data/loading/open_dataset.h"
#include "models/graph/graph.h"
#include "models/run/options/run_options.h"
#include "models/zoo/zoo.h"
#include "optim/losses/loss.h"

namespace dtnn {

// The graph with the layers of network.freeze frozen. A usage error for a pattern that matches no
// layer names the nearest one.
absl::StatusOr<Graph> FreezeLayers(const RunOptions& options, Graph graph);
// network.name, with those layers frozen.
absl::StatusOr<Graph> MakeModel(const RunOptions& options, const ModelOptions& model);
// The same for samples of `data`, or of the network's own size, ending in what the loss takes.
absl::StatusOr<Graph> MakeModel(const RunOptions& options, const std::optional<DatasetSize>& data,
                                const Loss& loss);

}  // namespace dtnn

#endif  // DTNN_MODELS_RUN_PARTS_MAKE_MODEL_H_
