// A network as TensorBoard draws it: a node per layer, with the shapes of what flows between them.

#ifndef DTNN_MODELS_OBSERVE_TENSORBOARD_GRAPH_DEF_H_
#define DTNN_MODELS_OBSERVE_TENSORBOARD_GRAPH_DEF_H_

#include "models/graph/graph.h"
#include "models/observe/tensorboard/event.pb.h"

namespace dtnn {

// Shapes begin with the number of samples, which is left open.
tensorboard::GraphDef ToGraphDef(const Graph& graph);

}  // namespace dtnn

#endif  // DTNN_MODELS_OBSERVE_TENSORBOARD_GRAPH_DEF_H_
