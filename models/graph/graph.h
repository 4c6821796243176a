// A network as a directed acyclic graph of layers; immutable once built: with a builder
// (builder.h), from a message (network.h), or from nodes.
//
// Nodes are in execution order: every node after its inputs. Their ids follow another order, that
// of the printed table: the input is 0; a block takes an id, then the layers of its first path,
// then of its second, ..., then whatever follows the block. A node's name is unique in its graph,
// and its parameters have their names in files from it; unless told otherwise it is "<id>_<type>".

#ifndef DTNN_MODELS_GRAPH_GRAPH_H_
#define DTNN_MODELS_GRAPH_GRAPH_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "layers/base/layer.h"
#include "tensor/format.h"
#include "tensor/shape.h"

namespace dtnn {

struct Node {
  std::shared_ptr<const Layer> layer;
  int id = 0;
  std::string name;                 // "5_FC"
  std::vector<int> inputs;          // indices into Graph::nodes()
  std::vector<Shape> input_shapes;  // per sample
  Shape output;                     // per sample
  std::vector<ParameterSpec> parameters;
  bool frozen = false;  // training changes none of the parameters: none is trained or tracked
};

// The order of the printed table: a node, and for a block the rows of its paths.
struct LayoutItem {
  int node = 0;
  std::vector<std::vector<LayoutItem>> paths;
};

// What a node of Graph::FromNodes is made of.
struct NodeSpec {
  std::shared_ptr<const Layer> layer = nullptr;
  std::vector<std::string> inputs = {};  // names of earlier nodes
  std::string name = {};                 // empty: "<id>_<type>"
  int id = -1;                           // -1: its place among the nodes
  // The block to which it belongs, as a part of one of the block's paths; empty: none.
  std::string block = {};
  int path = 0;
};

class Graph {
 public:
  // The most nodes that FromNodes takes, and inputs of a node.
  static constexpr int kMostNodes = 1 << 16, kMostInputs = 1 << 12;

  // Nodes in execution order; the first is the input, the last the output, and every other one is
  // the input of a later one. InvalidArgument names the node and says what is wrong with it: an
  // input that is not before it (so there are no cycles), a name or an id that another has, shapes
  // that do not fit, a network of more than 2^48 elements.
  static absl::StatusOr<Graph> FromNodes(std::string name, TensorFormat format,
                                         std::span<const NodeSpec> nodes);
  // What FromNodes makes this graph of.
  std::vector<NodeSpec> ToNodes() const;

  const std::string& name() const { return name_; }
  TensorFormat format() const { return format_; }
  const std::vector<Node>& nodes() const { return nodes_; }
  const std::vector<LayoutItem>& layout() const { return layout_; }

  const Shape& input_shape() const { return nodes_.front().output; }
  const Shape& output_shape() const { return nodes_.back().output; }
  // All parameters as the table counts them, and those that training changes.
  int64_t num_parameters() const;
  int64_t num_trainable_parameters() const;
  // Multiply-adds of one sample's forward pass.
  int64_t multiply_adds() const;
  // "5_FC_weights": the key of a parameter in weight files.
  static std::string WeightKey(const Node& node, const ParameterSpec& parameter);
  // The same network with these nodes (indices) frozen as well.
  Graph Frozen(std::span<const int> nodes) const;

 private:
  friend class GraphBuilder;

  // Appends a node, if its shapes fit: its index. Messages do not name the node.
  absl::StatusOr<int> AddNode(std::shared_ptr<const Layer> layer, int id, std::string name,
                              std::vector<int> inputs);

  std::string name_;
  TensorFormat format_ = TensorFormat::kNHWC;
  std::vector<Node> nodes_;
  std::vector<LayoutItem> layout_;
  int64_t elements_ = 0;  // of all outputs and parameters
};

// The classes or values of its output: its elements, or the channels of an image, whose pixels each
// have a class.
int64_t OutputsOf(const Graph& graph);

}  // namespace dtnn

#endif  // DTNN_MODELS_GRAPH_GRAPH_H_
