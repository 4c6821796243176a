#include "models/graph/graph.h"

#include <utility>

#include "layers/base/saturating.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

// Bounds the sum over all tensors of a graph, so that no other sum over its nodes can overflow.
constexpr int64_t kMostElements = int64_t{1} << 48;

absl::Status Count(const Shape& shape, int64_t& elements) {
  const bool possible = Shape::Make(shape.extents()).ok();
  if (!possible || shape.NumElements() > kMostElements) {
    return InvalidArgument("a tensor of shape ", shape.ToString(), " has more than 2^48 elements");
  }
  elements += shape.NumElements();
  if (elements <= kMostElements) return absl::OkStatus();
  return absl::InvalidArgumentError("with it, the network has more than 2^48 elements");
}

}  // namespace

absl::StatusOr<int> Graph::AddNode(std::shared_ptr<const Layer> layer, int id, std::string name,
                                   std::vector<int> inputs) {
  Node node;
  node.id = id;
  node.name = std::move(name);
  if (node.name.empty()) node.name = StrCat(id, "_", layer->type_name());
  node.inputs = std::move(inputs);
  for (const int input : node.inputs) node.input_shapes.push_back(nodes_[size_t(input)].output);
  DTNN_ASSIGN_OR_RETURN(node.output, layer->OutputShape(node.input_shapes, format_));
  DTNN_RETURN_IF_ERROR(Count(node.output, elements_));
  node.parameters = layer->Parameters(node.input_shapes, format_);
  for (const ParameterSpec& parameter : node.parameters) {
    DTNN_RETURN_IF_ERROR(Count(parameter.shape, elements_));
  }
  node.layer = std::move(layer);
  nodes_.push_back(std::move(node));
  return int(nodes_.size()) - 1;
}

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
  for (const Node& node : nodes_) {
    count = SaturatingSum(count, node.layer->MultiplyAdds(node.input_shapes, format_));
  }
  return count;
}

std::string Graph::WeightKey(const Node& node, const ParameterSpec& parameter) {
  return node.name + "_" + parameter.name;
}

Graph Graph::Frozen(std::span<const int> nodes) const {
  Graph graph = *this;
  for (int index : nodes) {
    Node& node = graph.nodes_[size_t(index)];
    node.frozen = true;
    for (ParameterSpec& parameter : node.parameters) parameter.trainable = false;
  }
  return graph;
}

int64_t OutputsOf(const Graph& graph) {
  const Shape& output = graph.output_shape();
  if (output.rank() == 3) return ExtentsOf(output, graph.format()).channels;
  return output.NumElements();
}

}  // namespace dtnn
