// Which module of a file becomes which layer of a network, and what differs (torch_weights.h).

#ifndef DTNN_MODELS_TORCH_TORCH_MATCH_H_
#define DTNN_MODELS_TORCH_TORCH_MATCH_H_

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/graph/graph.h"
#include "models/torch/torch_modules.h"

namespace dtnn {

struct TorchPair {
  const TorchModule* module;
  size_t node;         // of the graph
  std::string misfit;  // why the arrays do not fit the layer; empty: they do
};

struct TorchMatch {
  std::vector<TorchPair> pairs = {};
  std::vector<const TorchModule*> without_layer = {};
  std::vector<size_t> without_module = {};  // nodes of the graph

  bool SameStructure() const { return without_layer.empty() && without_module.empty(); }
};

// Modules in the order in which they run, each of a type, and the nodes with parameters, by their
// ids. One after the other where all are of the same kinds; else as few as can be stay without a
// partner, and pairs that fit come before others.
TorchMatch MatchModules(const std::vector<const TorchModule*>& modules, const Graph& graph,
                        const std::vector<size_t>& nodes);

// All that differs, in one sentence: at most 20 of each kind by name. `misfits`: those of pairs
// too.
std::string Differences(const TorchMatch& match, const Graph& graph, bool misfits);

// The name of an array in the file for a parameter of a layer.
std::string_view ArrayOf(const TorchModule& module, std::string_view parameter);

// "layer 5 (FC)"
std::string Describe(const Node& node);

}  // namespace dtnn

#endif  // DTNN_MODELS_TORCH_TORCH_MATCH_H_
