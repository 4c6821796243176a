// A graph as a message of network.proto, and as readable text for files:
//
//   version: 1
//   name: "simplecnn"
//   format: "NHWC"
//   node {
//     name: "1_Conv2D"
//     type: "Conv2D"
//     input: "0_Input"
//     attribute { name: "filters" integer: 4 }
//     ...
//
// A graph that is written and read again is the same: table, ids, parameter names, order of
// execution, and so also initial values and results. Messages and texts are not trusted: whatever
// is wrong with one is an InvalidArgument that names the node and the attribute, and nothing is
// allocated that is larger than they are.

#ifndef DTNN_MODELS_GRAPH_NETWORK_H_
#define DTNN_MODELS_GRAPH_NETWORK_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "layers/table/layer_table.h"
#include "models/graph/graph.h"
#include "models/graph/network.pb.h"

namespace dtnn {

proto::Network ToProto(const Graph& graph);
// `table`: the layers that networks may have.
absl::StatusOr<Graph> GraphFromProto(const proto::Network& network,
                                     const LayerTable& table = BuiltInLayers());

// The message in protobuf's text format, all of it ASCII.
std::string NetworkText(const Graph& graph);
absl::StatusOr<Graph> ParseNetwork(std::string_view text,
                                   const LayerTable& table = BuiltInLayers());

}  // namespace dtnn

#endif  // DTNN_MODELS_GRAPH_NETWORK_H_
