#include "models/graph/graph.h"

namespace dtnn {

int64_t Graph::num_parameters() const {
  int64_t count = 0;
  for (const Node& node : nodes_) {
    for (const ParameterSpec& parameter : node.parameters) count += parameter.shape.NumElements();
  }
  return count;
}

int64_t Graph::num_trainable_parameters() const {
  int64_t count = 0;
  for (const Node& node : nodes_) {
    for (const ParameterSpec& parameter : node.parameters) {
      if (parameter.trainable) count += parameter.shape.NumElements();
    }
  }
  return count;
}

int64_t Graph::multiply_adds() const {
  int64_t count = 0;
  for (const Node& node : nodes_) count += node.layer->MultiplyAdds(node.input_shapes, format_);
  return count;
}

std::string Graph::WeightKey(const Node& node, const ParameterSpec& parameter) {
  return std::to_string(node.id) + "_" + std::string(node.layer->type_name()) + "_" +
         parameter.name;
}

}  // namespace dtnn
