#include "models/observe/tensorboard/graph_def.h"

#include <string>

namespace dtnn {

tensorboard::GraphDef ToGraphDef(const Graph& graph) {
  tensorboard::GraphDef def;
  def.mutable_versions()->set_producer(22);  // of the format; any since 2016 is drawn alike
  for (const Node& node : graph.nodes()) {
    tensorboard::NodeDef& added = *def.add_node();
    added.set_name(node.name);
    added.set_op(std::string(node.layer->type_name()));
    for (const int input : node.inputs) added.add_input(graph.nodes()[size_t(input)].name);
    auto& attributes = *added.mutable_attr();
    tensorboard::TensorShape& shape = *attributes["_output_shapes"].mutable_list()->add_shape();
    shape.add_dim()->set_size(-1);
    for (int i = 0; i < node.output.rank(); ++i) shape.add_dim()->set_size(node.output[i]);
    std::string parameters;
    for (const ParameterSpec& parameter : node.parameters) {
      if (!parameters.empty()) parameters += ", ";
      parameters += parameter.name + " " + parameter.shape.ToString();
    }
    if (!parameters.empty()) attributes["parameters"].set_s(parameters);
  }
  return def;
}

}  // namespace dtnn
