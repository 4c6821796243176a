// What each layer takes of a plan's memory.
//
// Layers share the arena in turn, and all of them one workspace, so the bytes of all layers
// together are more than the plan has. What several layers hold at one place (a view, an op that
// writes over its input) counts for the first of them; of a concatenation's memory, each layer that
// writes a part of it has that part.

#ifndef DTNN_MODELS_PLAN_LAYER_MEMORY_H_
#define DTNN_MODELS_PLAN_LAYER_MEMORY_H_

#include <cstddef>
#include <vector>

#include "models/graph/graph.h"
#include "models/plan/plan_layout.h"

namespace dtnn {

struct LayerMemory {
  int id = 0;  // of the layer
  // Bytes of the arena: its output, the gradient of that, and what it keeps for its backward pass.
  size_t arena = 0;
  size_t workspace = 0;  // scratch bytes that it asks for
  size_t kept = 0;       // bytes of its own that it keeps from step to step
};

// In the order of the graph's nodes; `workspace` and `kept`, of which a layout knows nothing, are
// 0.
std::vector<LayerMemory> DescribeLayerMemory(const Graph& graph, const PlanLayout& layout);

}  // namespace dtnn

#endif  // DTNN_MODELS_PLAN_LAYER_MEMORY_H_
