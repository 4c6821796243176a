#include "models/plan/fusion.h"

#include <cstdint>

#include "absl/strings/str_format.h"
#include "layers/activation.h"
#include "layers/batch_normalization.h"
#include "layers/conv2d.h"
#include "models/plan/plan_layout.h"

namespace dtnn {
namespace {

// By type, not by name: a layer of the user's own may be called as it likes.
bool IsRelu(const Layer& layer) {
  const auto* activation = dynamic_cast<const ActivationLayer*>(&layer);
  return activation != nullptr && activation->kind() == ActivationKind::kRelu;
}
template <class T>
bool Is(const Layer& layer) {
  return dynamic_cast<const T*>(&layer) != nullptr;
}

class Finder {
 public:
  Finder(const Graph& graph, const Fusions& wanted)
      : nodes_(graph.nodes()), consumers_(ConsumersOf(graph)), wanted_(wanted) {}

  std::vector<Fusion> Find() {
    std::vector<uint8_t> taken(nodes_.size(), 0);
    std::vector<Fusion> fusions;
    for (int i = 0; i < int(nodes_.size()); ++i) {
      if (taken[size_t(i)]) continue;
      const Fusion fusion = At(i);
      if (fusion.normalization < 0 && fusion.relu < 0) continue;
      for (int node : {fusion.normalization, fusion.relu}) {
        if (node >= 0) taken[size_t(node)] = 1;
      }
      fusions.push_back(fusion);
    }
    return fusions;
  }

 private:
  const Layer& layer(int node) const { return *nodes_[size_t(node)].layer; }

  // The only reader of a node's output; -1: there are several, or none.
  int NextOf(int node) const {
    const std::vector<int>& readers = consumers_[size_t(node)];
    return readers.size() == 1 ? readers[0] : -1;
  }
  // The same where it is a relu.
  int ReluBehind(int node) const {
    const int next = NextOf(node);
    return next >= 0 && IsRelu(layer(next)) ? next : -1;
  }

  Fusion At(int node) const {
    Fusion fusion;
    fusion.layer = node;
    const int next = NextOf(node);
    if (next >= 0 && layer(node).CanFuseNormalization() &&
        Is<BatchNormalizationLayer>(layer(next))) {
      const int relu = ReluBehind(next);
      const bool triple = relu >= 0 && wanted_.conv_bn_relu;
      if (triple || wanted_.conv_bn) {
        fusion.normalization = next;
        fusion.relu = relu;
        fusion.asked = {node, next};
        if (triple) fusion.asked.push_back(relu);
      }
      return fusion;
    }
    if (layer(node).CanFuseRelu()) fusion.relu = ReluBehind(node);
    const bool asked = (wanted_.conv_relu && Is<Conv2dLayer>(layer(node))) ||
                       (wanted_.bn_relu && Is<BatchNormalizationLayer>(layer(node)));
    if (fusion.relu >= 0 && asked) fusion.asked = {node, fusion.relu};
    return fusion;
  }

  const std::vector<Node>& nodes_;
  const std::vector<std::vector<int>> consumers_;
  const Fusions wanted_;
};

}  // namespace

std::vector<Fusion> FindFusions(const Graph& graph, const Fusions& wanted) {
  return Finder(graph, wanted).Find();
}

std::vector<std::string> DescribeFusions(const Graph& graph, const Fusions& wanted) {
  std::vector<std::string> lines;
  for (const Fusion& fusion : FindFusions(graph, wanted)) {
    std::string line;
    for (int index : fusion.asked) {
      const Node& node = graph.nodes()[size_t(index)];
      line += absl::StrFormat("%s%03d_%sCPU", line.empty() ? "" : " + ", node.id,
                              std::string(node.layer->type_name()));
    }
    if (!line.empty()) lines.push_back(line);
  }
  return lines;
}

}  // namespace dtnn
