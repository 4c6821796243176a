// Builds the network that options describe.

#ifndef DTNN_APPS_MAKE_MAKE_MODEL_H_
#define DTNN_APPS_MAKE_MAKE_MODEL_H_

#include "absl/status/statusor.h"
#include "apps/flags/options.h"
#include "models/graph/graph.h"
#include "models/zoo/zoo.h"

namespace dtnn {

// The graph with the layers of --freeze frozen. A usage error for a pattern that matches no layer
// names the nearest one.
absl::StatusOr<Graph> FreezeLayers(const Options& options, Graph graph);
// --model, with those layers frozen.
absl::StatusOr<Graph> MakeModel(const Options& options, const ModelOptions& model);

}  // namespace dtnn

#endif  // DTNN_APPS_MAKE_MAKE_MODEL_H_
