// The network that options ask for.

#ifndef DTNN_APPS_MAKE_MAKE_MODEL_H_
#define DTNN_APPS_MAKE_MAKE_MODEL_H_

#include "absl/status/statusor.h"
#include "apps/flags/options.h"
#include "models/graph/graph.h"
#include "models/zoo/zoo.h"

namespace dtnn {

// --model, with the layers of --freeze frozen. A usage error for a pattern that means no layer
// names the one that is nearest.
absl::StatusOr<Graph> MakeModel(const Options& options, const ModelOptions& model);

}  // namespace dtnn

#endif  // DTNN_APPS_MAKE_MAKE_MODEL_H_
