#include "models/torch/torch_match.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/strings/str_join.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

// What a pair that does not fit costs, and a module or layer without a partner.
constexpr int kOfAMisfit = 3, kOfOneAlone = 2;
constexpr size_t kMostCells = 1 << 20;  // beyond, nothing of what differs has a partner
constexpr size_t kMostNamed = 20;       // of each kind of difference

// A convolution of single pixels, which PyTorch computes as a product, channels last.
bool IsProductOfPixels(const TorchModule& module, const Node& node) {
  return module.Type() == "FC" && node.layer->type_name() == "Conv2D" &&
         node.parameters[0].shape.rank() == 2;
}

// ConvNeXt's factor for each channel.
bool IsLayerScale(const Node& node) {
  const Shape& weights = node.parameters[0].shape;
  return node.layer->type_name() == "Conv2D" && weights.rank() == 3 && weights[1] == 1 &&
         weights[2] == 1;
}

// Whether the module may be the layer. Weights of a transposed convolution look like others: the
// network says which of the two a module is.
bool IsOfType(const TorchModule& module, const Node& node) {
  const std::string_view layer = node.layer->type_name();
  if (layer == "TransposedConv2D") return module.Type() == "Conv2D";
  return module.Type() == layer || IsProductOfPixels(module, node);
}

// PyTorch's shape of a parameter in NCHW, whose elements have the same order but for a matrix.
std::vector<int64_t> TorchShape(const TorchModule& module, const Node& node,
                                const ParameterSpec& spec) {
  const Shape& shape = spec.shape;
  if (spec.name != "weights") return {shape[0]};
  if (IsProductOfPixels(module, node)) return {shape[0], shape[1]};
  if (module.LayerScale() == "gamma") return {shape[0]};
  if (!module.LayerScale().empty()) return {shape[0], 1, 1};
  if (node.layer->type_name() == "FC") return {shape[1], shape[0]};
  if (shape.rank() == 2) return {shape[0], shape[1], 1, 1};
  if (shape.rank() == 3) return {shape[0], 1, shape[1], shape[2]};
  return {shape[0], shape[1], shape[2], shape[3]};
}

// Why the module does not fit the layer; empty: it fits.
std::string Misfit(const TorchModule& module, const Node& node) {
  if (!module.LayerScale().empty() && !IsLayerScale(node)) {
    return StrCat("\"", module.name, "\" has a ", module.LayerScale(),
                  ", a factor for each channel, but ", Describe(node),
                  " is not a depthwise convolution of single pixels");
  }
  for (const ParameterSpec& spec : node.parameters) {
    const std::string array(ArrayOf(module, spec.name));
    const auto found = module.arrays.find(array);
    if (found == module.arrays.end()) {
      if (spec.name == "biases") continue;
      return StrCat("\"", module.name, "\" has no ", array, ", which ", Describe(node), " needs");
    }
    const Shape& shape = found->second->shape();
    if (std::ranges::equal(shape.extents(), TorchShape(module, node, spec))) continue;
    return StrCat("\"", module.name, ".", array, "\" has shape ", shape.ToString(), ", but ",
                  Describe(node), " has ", spec.shape.ToString());
  }
  if (module.Has("bias") && std::ranges::none_of(node.parameters, [](const ParameterSpec& spec) {
        return spec.name == "biases" || spec.name == "beta";
      })) {
    return StrCat("\"", module.name, "\" has a bias, but ", Describe(node), " has none");
  }
  return "";
}

// What pairing the two costs; kOfOneAlone for each is cheaper than two of different kinds.
int CostOf(const TorchModule& module, const Node& node) {
  if (!IsOfType(module, node)) return 2 * kOfOneAlone + 1;
  return Misfit(module, node).empty() ? 0 : kOfAMisfit;
}

// "a, b and 3 more"
std::string Listed(const std::vector<std::string>& items, std::string_view separator) {
  std::string text;
  for (size_t i = 0; i < std::min(items.size(), kMostNamed); ++i) {
    StrAppend(&text, i == 0 ? "" : separator, items[i]);
  }
  if (items.size() > kMostNamed) StrAppend(&text, " and ", items.size() - kMostNamed, " more");
  return text;
}

class Matcher {
 public:
  Matcher(const std::vector<const TorchModule*>& modules, const Graph& graph,
          const std::vector<size_t>& nodes)
      : modules_(modules), graph_(graph), nodes_(nodes) {}

  TorchMatch Match() {
    if (InOrder()) {
      for (size_t i = 0; i < modules_.size(); ++i) Pair(i, i);
      return std::move(match_);
    }
    size_t begin = 0, modules = modules_.size(), nodes = nodes_.size();
    while (begin < std::min(modules, nodes) && Cost(begin, begin) == 0) Pair(begin, begin), ++begin;
    while (std::min(modules, nodes) > begin && Cost(modules - 1, nodes - 1) == 0) {
      --modules, --nodes;
    }
    if ((modules - begin + 1) * (nodes - begin + 1) <= kMostCells) {
      Align(begin, modules, nodes);
    } else {
      for (size_t i = begin; i < modules; ++i) match_.without_layer.push_back(modules_[i]);
      for (size_t j = begin; j < nodes; ++j) match_.without_module.push_back(nodes_[j]);
    }
    for (; modules < modules_.size(); ++modules, ++nodes) Pair(modules, nodes);
    return std::move(match_);
  }

 private:
  const Node& NodeAt(size_t j) const { return graph_.nodes()[nodes_[j]]; }
  int Cost(size_t i, size_t j) const { return CostOf(*modules_[i], NodeAt(j)); }

  bool InOrder() const {
    if (modules_.size() != nodes_.size()) return false;
    for (size_t i = 0; i < modules_.size(); ++i) {
      if (!IsOfType(*modules_[i], NodeAt(i))) return false;
    }
    return true;
  }

  void Pair(size_t i, size_t j) {
    match_.pairs.push_back({modules_[i], nodes_[j], Misfit(*modules_[i], NodeAt(j))});
  }

  // Modules and nodes from `begin` on, as the least cost has them.
  void Align(size_t begin, size_t modules, size_t nodes) {
    const size_t rows = modules - begin, columns = nodes - begin;
    const auto at = [&](size_t i, size_t j) { return i * (columns + 1) + j; };
    std::vector<int32_t> least(at(rows, columns) + 1), pair(least.size());  // of what follows
    for (size_t i = rows + 1; i-- > 0;) {
      for (size_t j = columns + 1; j-- > 0;) {
        if (i == rows || j == columns) {
          least[at(i, j)] = kOfOneAlone * int32_t(rows - i + columns - j);
          continue;
        }
        pair[at(i, j)] = Cost(begin + i, begin + j) + least[at(i + 1, j + 1)];
        least[at(i, j)] = std::min(
            {pair[at(i, j)], least[at(i + 1, j)] + kOfOneAlone, least[at(i, j + 1)] + kOfOneAlone});
      }
    }
    for (size_t i = 0, j = 0; i < rows || j < columns;) {
      if (i < rows && j < columns && least[at(i, j)] == pair[at(i, j)]) {
        Pair(begin + i++, begin + j++);
      } else if (i < rows && least[at(i, j)] == least[at(i + 1, j)] + kOfOneAlone) {
        match_.without_layer.push_back(modules_[begin + i++]);
      } else {
        match_.without_module.push_back(nodes_[begin + j++]);
      }
    }
  }

  const std::vector<const TorchModule*>& modules_;
  const Graph& graph_;
  const std::vector<size_t>& nodes_;
  TorchMatch match_;
};

}  // namespace

std::string_view ArrayOf(const TorchModule& module, std::string_view parameter) {
  if (parameter == "weights" && !module.LayerScale().empty()) return module.LayerScale();
  if (parameter == "weights" || parameter == "gamma" || parameter == "slopes") return "weight";
  if (parameter == "biases" || parameter == "beta") return "bias";
  return parameter;  // running_mean, running_var
}

std::string Describe(const Node& node) {
  return StrCat("layer ", node.id, " (", node.layer->type_name(), ")");
}

TorchMatch MatchModules(const std::vector<const TorchModule*>& modules, const Graph& graph,
                        const std::vector<size_t>& nodes) {
  return Matcher(modules, graph, nodes).Match();
}

std::string Differences(const TorchMatch& match, const Graph& graph, bool misfits) {
  std::vector<std::string> parts, of_pairs, modules, layers;
  for (const TorchPair& pair : match.pairs) {
    if (misfits && !pair.misfit.empty()) of_pairs.push_back(pair.misfit);
  }
  for (const TorchModule* module : match.without_layer) {
    modules.push_back(StrCat("\"", module->name, "\" (", module->Type(), ")"));
  }
  for (const size_t node : match.without_module) layers.push_back(Describe(graph.nodes()[node]));
  if (!of_pairs.empty()) parts.push_back(Listed(of_pairs, "; "));
  if (!modules.empty()) {
    parts.push_back(StrCat("network ", graph.name(), " has no layer for ", Listed(modules, ", ")));
  }
  if (!layers.empty()) {
    parts.push_back(
        StrCat("the file has no module for ", Listed(layers, ", "), " of network ", graph.name()));
  }
  if (!match.SameStructure()) parts.push_back("the structures differ");
  return absl::StrJoin(parts, "; ");
}

}  // namespace dtnn
