#include "models/observe/trace/layer_facts.h"

#include <algorithm>

#include "tensor/dtype.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

std::string AlgorithmsOf(const Node& node, std::span<const std::string> lines) {
  const std::string start = StrCat("layer ", node.id, " (", node.layer->type_name(), "): ");
  for (const std::string& line : lines) {
    if (line.starts_with(start)) return line.substr(start.size());
  }
  return "";
}

// Where training looks for the gradient of a node's parameters, and of its output.
struct Needs {
  bool parameters = false, output = false;
};

std::vector<Needs> FindNeeds(const Graph& graph) {
  std::vector<Needs> needs;
  for (const Node& node : graph.nodes()) {
    Needs& need = needs.emplace_back();
    need.parameters =
        !node.frozen && std::ranges::any_of(node.parameters, &ParameterSpec::trainable);
    need.output = need.parameters || std::ranges::any_of(node.inputs, [&](int input) {
                    return needs[size_t(input)].output;
                  });
  }
  return needs;
}

}  // namespace

std::vector<LayerFacts> DescribeLayers(const Graph& graph, const ParameterStore& store,
                                       const LayersOfPlan& plan) {
  const std::vector<Needs> needs = FindNeeds(graph);
  const double element = double(SizeOf(store.dtype()));
  // Values, gradients, slots.
  const double copies = store.has_gradients() ? 2 + double(store.slots().size()) : 1;
  std::vector<LayerFacts> layers;
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    const Node& node = graph.nodes()[i];
    LayerFacts& layer = layers.emplace_back();
    layer.id = node.id;
    layer.name = node.name;
    layer.type = node.layer->type_name();
    layer.algorithms = AlgorithmsOf(node, plan.algorithms);
    if (i < plan.memory.size()) {
      layer.arena_bytes = double(plan.memory[i].arena);
      layer.workspace_bytes = double(plan.memory[i].workspace);
    }
    const double output = double(node.output.NumElements()) * element;
    double inputs = 0, input_gradients = 0;
    bool input_gradient = false;
    for (size_t k = 0; k < node.inputs.size(); ++k) {
      const double bytes = double(node.input_shapes[k].NumElements()) * element;
      inputs += bytes;
      if (!needs[size_t(node.inputs[k])].output) continue;
      input_gradients += bytes;
      input_gradient = true;
    }
    layer.forward_bytes = inputs + output;
    layer.backward_bytes = (needs[i].parameters ? inputs : 0) + output + input_gradients;
    layer.forward_flops = 2 * double(node.layer->MultiplyAdds(node.input_shapes, graph.format()));
    layer.backward_flops =
        layer.forward_flops * ((needs[i].parameters ? 1 : 0) + (input_gradient ? 1 : 0));
    for (size_t p = 0; p < node.parameters.size(); ++p) {
      const int64_t count = node.parameters[p].shape.NumElements();
      const bool trains = !node.frozen && node.parameters[p].trainable;
      layer.parameter_bytes += double(count) * element;
      layer.held_parameter_bytes += double(count) * element * (trains ? copies : 1);
      if (!trains) continue;
      const int64_t first = store.Offset(int(i), int(p));
      const bool none = layer.first_gradient == layer.last_gradient;
      layer.first_gradient = none ? first : std::min(layer.first_gradient, first);
      layer.last_gradient = std::max(layer.last_gradient, first + count);
    }
  }
  return layers;
}

}  // namespace dtnn
