#include "models/plan/fusion.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "absl/strings/str_format.h"
#include "kernels/operands/epilogue.h"
#include "models/plan/plan_layout.h"

namespace dtnn {
namespace {

class Finder {
 public:
  Finder(const Graph& graph, const Fusions& wanted, bool additions)
      : nodes_(graph.nodes()),
        consumers_(ConsumersOf(graph)),
        needs_gradient_(NeedsGradient(graph)),
        wanted_(wanted),
        additions_(additions) {}

  std::vector<Fusion> Find() {
    std::vector<uint8_t> taken(nodes_.size(), 0);
    std::vector<Fusion> fusions;
    for (int i = 0; i < int(nodes_.size()); ++i) {
      if (taken[size_t(i)]) continue;
      const Fusion fusion = At(i);
      if (fusion.normalization < 0 && fusion.addition < 0 && fusion.relu < 0) continue;
      for (int node : {fusion.normalization, fusion.addition, fusion.relu}) {
        if (node >= 0) taken[size_t(node)] = 1;
      }
      fusions.push_back(fusion);
    }
    return fusions;
  }

 private:
  const Layer& layer(int node) const { return *nodes_[size_t(node)].layer; }

  bool Normalizes(int node) const { return layer(node).absorbable().scale; }

  // The only reader of a node's output, where it is that to the node; -1: there is none.
  int NextOf(int node, bool Epilogue::*what) const {
    const std::vector<int>& readers = consumers_[size_t(node)];
    return readers.size() == 1 && layer(readers[0]).absorbable().*what ? readers[0] : -1;
  }

  // The chain of `fusion` ends with `last` so far. Returns where it ends then.
  int FuseAddition(int last, Fusion& fusion) const {
    const int next = NextOf(last, &Epilogue::add);
    if (next < 0 || nodes_[size_t(next)].inputs.size() != 2) return last;
    const std::vector<int>& terms = nodes_[size_t(next)].inputs;
    const int addend = terms[0] == last ? terms[1] : terms[0];
    if (addend >= fusion.layer) return last;
    // In training, the addend's gradient comes by this layer's backward pass, which there must be.
    const bool trained = needs_gradient_[size_t(addend)] > needs_gradient_[size_t(fusion.layer)];
    if (Normalizes(fusion.layer) && trained) return last;
    fusion.addition = next;
    fusion.addend = addend;
    return next;
  }

  Fusion At(int node) const {
    Fusion fusion;
    fusion.layer = node;
    const Epilogue can = layer(node).absorbs();
    int last = node;
    const int normalization = can.scale ? NextOf(node, &Epilogue::scale) : -1;
    if (normalization >= 0) {
      const int relu = NextOf(normalization, &Epilogue::relu);
      const bool triple = relu >= 0 && wanted_.conv_bn_relu;
      if (!triple && !wanted_.conv_bn) return fusion;
      last = fusion.normalization = normalization;
      fusion.asked = {node, normalization};
      if (triple) fusion.asked.push_back(relu);
    }
    if (can.add && (additions_ || Normalizes(node))) last = FuseAddition(last, fusion);
    if (can.relu) fusion.relu = NextOf(last, &Epilogue::relu);
    const bool asked = can.scale ? wanted_.conv_relu : wanted_.bn_relu && Normalizes(node);
    if (last == node && fusion.relu >= 0 && asked) fusion.asked = {node, fusion.relu};
    return fusion;
  }

  const std::vector<Node>& nodes_;
  const std::vector<std::vector<int>> consumers_;
  const std::vector<uint8_t> needs_gradient_;
  const Fusions wanted_;
  const bool additions_;
};

}  // namespace

std::vector<Fusion> FindFusions(const Graph& graph, const Fusions& wanted, bool additions) {
  return Finder(graph, wanted, additions).Find();
}

bool PairsNormalizations(const Graph& graph, const Fusion& fusion) {
  if (fusion.addition < 0) return false;
  const auto layer = [&](int node) -> const Layer& { return *graph.nodes()[size_t(node)].layer; };
  if (!layer(fusion.layer).CanComputeAddend(layer(fusion.addend))) return false;
  const std::vector<std::vector<int>> consumers = ConsumersOf(graph);
  const std::vector<uint8_t> needs_gradient = NeedsGradient(graph);
  return std::ranges::all_of(std::array{fusion.layer, fusion.addend}, [&](int term) {
    const Node& node = graph.nodes()[size_t(term)];
    const size_t input = size_t(node.inputs[0]);
    return !node.frozen && consumers[size_t(term)].size() == 1 && consumers[input].size() == 1 &&
           needs_gradient[input];
  });
}

std::vector<uint8_t> LosesConstants(const Graph& graph) {
  std::vector<uint8_t> loses;
  for (const std::vector<int>& readers : ConsumersOf(graph)) {
    const Node* reader = readers.size() == 1 ? &graph.nodes()[size_t(readers[0])] : nullptr;
    loses.push_back(reader != nullptr && reader->layer->absorbable().scale && !reader->frozen);
  }
  return loses;
}

std::vector<std::string> DescribeFusions(const Graph& graph, const Fusions& wanted,
                                         std::string_view kind) {
  std::vector<std::string> lines;
  for (const Fusion& fusion : FindFusions(graph, wanted, /*additions=*/true)) {
    std::string line;
    for (int index : fusion.asked) {
      const Node& node = graph.nodes()[size_t(index)];
      line += absl::StrFormat("%s%03d_%s%s", line.empty() ? "" : " + ", node.id,
                              std::string(node.layer->type_name()), std::string(kind));
    }
    if (!line.empty()) lines.push_back(line);
  }
  return lines;
}

}  // namespace dtnn
