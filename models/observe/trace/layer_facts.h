// What profiles and traces need to know of a layer: its name, its work, and where its gradients
// stand.

#ifndef DTNN_MODELS_OBSERVE_TRACE_LAYER_FACTS_H_
#define DTNN_MODELS_OBSERVE_TRACE_LAYER_FACTS_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "models/graph/graph.h"
#include "models/parameters/parameter_store.h"
#include "models/plan/layer_memory.h"

namespace dtnn {

struct LayerFacts {
  int id = 0;
  std::string name = {};  // "5_FC"
  std::string type = {};  // "FC"
  std::string algorithms =
      {};  // what computes it: "forward winograd, ..."; empty: there is no choice
  // Of one sample. Operations: a multiply-add counts two. Bytes: the least that must be read and
  // written, every tensor once.
  double forward_flops = 0, backward_flops = 0;
  double forward_bytes = 0, backward_bytes = 0;
  double parameter_bytes = 0;
  // Bytes that training holds: parameters with their gradients and the optimizer's state; of the
  // arena and the workspace, which layers share, as models/plan/layer_memory.h counts them.
  double held_parameter_bytes = 0, arena_bytes = 0, workspace_bytes = 0;
  // Elements [first_gradient, last_gradient) of the arena of gradients; none where they are equal.
  int64_t first_gradient = 0, last_gradient = 0;
};

// What a plan says of its layers, as Plan::Algorithms and Plan::MemoryByLayer do.
struct LayersOfPlan {
  std::span<const std::string> algorithms = {};
  std::span<const LayerMemory> memory = {};
};

// In the order of the graph's nodes.
std::vector<LayerFacts> DescribeLayers(const Graph& graph, const ParameterStore& store,
                                       const LayersOfPlan& plan = {});

}  // namespace dtnn

#endif  // DTNN_MODELS_OBSERVE_TRACE_LAYER_FACTS_H_
