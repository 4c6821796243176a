// Freezes layers, by name or id: for fine-tuning a network whose weights were trained on other
// data.
//
// A pattern is a glob (*, ?, [0-9]) that is compared with names of layers as in the keys of
// weights, "12_Conv2D", or one id or a range of ids of the printed table, "12" or "1-40". It
// selects layers that have parameters; all parameters of a layer are frozen.

#ifndef DTNN_MODELS_GRAPH_FREEZE_H_
#define DTNN_MODELS_GRAPH_FREEZE_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "models/graph/graph.h"

namespace dtnn {

// The names that patterns are compared with.
std::vector<std::string> LayersWithParameters(const Graph& graph);

// The same network with the layers of the pattern frozen as well. InvalidArgument for a pattern
// that matches no layer, and if no parameter would be left to train.
absl::StatusOr<Graph> Freeze(const Graph& graph, std::string_view pattern);

}  // namespace dtnn

#endif  // DTNN_MODELS_GRAPH_FREEZE_H_
