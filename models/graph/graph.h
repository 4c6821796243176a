// A network as a directed acyclic graph of layers; immutable once built (see builder.h).
//
// Nodes stand in execution order: every node after its inputs. Their ids are another order, that of
// the printed table, on which weight keys depend: the input is 0; a block takes an id, then the
// layers of its first path, then of its second, ..., then whatever follows the block.

#ifndef DTNN_MODELS_GRAPH_GRAPH_H_
#define DTNN_MODELS_GRAPH_GRAPH_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "layers/base/layer.h"
#include "tensor/format.h"
#include "tensor/shape.h"

namespace dtnn {

struct Node {
  std::shared_ptr<const Layer> layer;
  int id = 0;
  std::vector<int> inputs;          // indices into Graph::nodes()
  std::vector<Shape> input_shapes;  // per sample
  Shape output;                     // per sample
  std::vector<ParameterSpec> parameters;
};

// The order of the printed table: a node, and for a block the rows of its paths.
struct LayoutItem {
  int node = 0;
  std::vector<std::vector<LayoutItem>> paths;
};

class Graph {
 public:
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
  // One more than the largest id.
  int num_ids() const { return int(nodes_.size()); }
  // "5_FC_weights": the key of a parameter in weight files.
  static std::string WeightKey(const Node& node, const ParameterSpec& parameter);

 private:
  friend class GraphBuilder;
  std::string name_;
  TensorFormat format_ = TensorFormat::kNHWC;
  std::vector<Node> nodes_;
  std::vector<LayoutItem> layout_;
};

}  // namespace dtnn

#endif  // DTNN_MODELS_GRAPH_GRAPH_H_
