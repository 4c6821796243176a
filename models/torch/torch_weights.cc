#include "models/torch/torch_weights.h"

#include <algorithm>
#include <cmath>
#include <compare>
#include <cstring>
#include <iterator>
#include <map>
#include <span>
#include <string_view>
#include <utility>

#include "absl/strings/str_split.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

// A module of the file, and its arrays by the last part of their names.
struct Module {
  std::string name;
  std::map<std::string, const Tensor*, std::less<>> arrays;

  bool Has(std::string_view array) const { return arrays.contains(array); }
  // The type of layer that has such arrays; empty: none.
  std::string_view Type() const {
    if (Has("running_mean")) return "BatchNormalization";
    if (!Has("weight")) return "";
    const int rank = arrays.find("weight")->second->shape().rank();
    return rank == 4 ? "Conv2D" : rank == 2 ? "FC" : "";
  }
};

// Names of torchvision's modules, in the order in which its networks run them: those before all
// others, and those after.
constexpr std::string_view kFirst[] = {
    "stem",        "trunk_output", "features",    "proj",        "f",           "a",
    "b",           "se",           "c",           "conv0",       "norm0",       "norm",
    "conv",        "norm1",        "conv1",       "bn1",         "norm2",       "conv2",
    "bn2",         "conv3",        "bn3",         "bn",          "denseblock1", "transition1",
    "denseblock2", "transition2",  "denseblock3", "transition3", "denseblock4", "squeeze",
    "expand1x1",   "expand3x3"};
constexpr std::string_view kLast[] = {"norm5", "downsample", "fc", "classifier"};
constexpr size_t kBetween = std::size(kFirst);

// What a part of a name sorts by: its place, then letters and numbers in turn.
struct Key {
  size_t place = kBetween;
  std::vector<std::pair<std::string, int64_t>> pieces = {};
  friend auto operator<=>(const Key&, const Key&) = default;
};

Key KeyOf(std::string_view part) {
  Key key;
  const auto* first = std::ranges::find(kFirst, part);
  const auto* last = std::ranges::find(kLast, part);
  if (first != std::end(kFirst)) key.place = size_t(first - kFirst);
  if (last != std::end(kLast)) key.place = kBetween + 1 + size_t(last - kLast);
  while (!part.empty()) {
    const size_t letters = std::min(part.find_first_of("0123456789"), part.size());
    const size_t end = std::min(part.find_first_not_of("0123456789", letters), part.size());
    int64_t number = -1;
    for (size_t i = letters; i < std::min(end, letters + 9); ++i) {
      number = std::max<int64_t>(number, 0) * 10 + (part[i] - '0');
    }
    key.pieces.emplace_back(std::string(part.substr(0, letters)), number);
    part.remove_prefix(end);
  }
  return key;
}

std::vector<Key> KeysOf(const std::string& name) {
  std::vector<Key> keys;
  for (const auto part : absl::StrSplit(name, '.')) {
    keys.push_back(KeyOf({part.data(), part.size()}));
  }
  return keys;
}

// Whether the names tell which of two modules runs first: both are torchvision's, or differ by a
// number.
bool OrderIsKnown(const std::string& a, const std::string& b) {
  const std::vector<Key> left = KeysOf(a), right = KeysOf(b);
  for (size_t i = 0; i < std::min(left.size(), right.size()); ++i) {
    if (left[i] == right[i]) continue;
    return left[i].place != right[i].place || left[i].pieces[0].first == right[i].pieces[0].first;
  }
  return true;
}

// In the order of the file.
std::vector<Module> ModulesOf(const NamedTensors& weights) {
  std::vector<Module> modules;
  std::map<std::string, size_t> places;
  for (const auto& [name, tensor] : weights) {
    const size_t dot = name.rfind('.');
    const std::string module = dot == name.npos ? "" : name.substr(0, dot);
    const auto [at, is_new] = places.emplace(module, modules.size());
    if (is_new) modules.push_back({.name = module, .arrays = {}});
    modules[at->second].arrays[name.substr(dot == name.npos ? 0 : dot + 1)] = &tensor;
  }
  return modules;
}

absl::Status SortByNames(std::vector<Module>& modules) {
  std::ranges::stable_sort(modules, {}, [](const Module& m) { return KeysOf(m.name); });
  for (size_t i = 1; i < modules.size(); ++i) {
    if (OrderIsKnown(modules[i - 1].name, modules[i].name)) continue;
    return InvalidArgument("which of \"", modules[i - 1].name, "\" and \"", modules[i].name,
                           "\" runs first, is not known; a .pth file has modules in their order");
  }
  return absl::OkStatus();
}

// Sorts modules as the layers are that have their names, if all that become layers have one: a
// network that was imported with PyTorch's names.
bool SortByLayers(const Graph& graph, std::vector<Module>& modules) {
  std::map<std::string_view, int> ids;
  for (const Node& node : graph.nodes()) ids[node.name] = node.id;
  const bool all = std::ranges::all_of(
      modules, [&](const Module& m) { return m.Type().empty() || ids.contains(m.name); });
  if (!all) return false;
  const auto id = [&](const Module& m) { return ids.contains(m.name) ? ids.at(m.name) : -1; };
  std::ranges::stable_sort(modules, {}, id);
  return true;
}

// The name of an array in the file for a parameter of a layer.
std::string_view ArrayOf(std::string_view parameter) {
  if (parameter == "weights" || parameter == "gamma") return "weight";
  if (parameter == "biases" || parameter == "beta") return "bias";
  return parameter;  // running_mean, running_var
}

// PyTorch's shape of a parameter in NCHW, whose elements have the same order but for a matrix.
std::vector<int64_t> TorchShape(const Node& node, const ParameterSpec& spec) {
  const Shape& shape = spec.shape;
  if (spec.name != "weights") return {shape[0]};
  if (node.layer->type_name() == "FC") return {shape[1], shape[0]};
  if (shape.rank() == 2) return {shape[0], shape[1], 1, 1};
  if (shape.rank() == 3) return {shape[0], 1, shape[1], shape[2]};
  return {shape[0], shape[1], shape[2], shape[3]};
}

std::string Describe(const Node& node) {
  return StrCat("layer ", node.id, " (", node.layer->type_name(), ")");
}

// Why the module does not fit the layer; empty: it fits.
std::string Misfit(const Module& module, const Node& node) {
  for (const ParameterSpec& spec : node.parameters) {
    const std::string array(ArrayOf(spec.name));
    const auto found = module.arrays.find(array);
    if (found == module.arrays.end()) {
      if (spec.name == "biases") continue;
      return StrCat("\"", module.name, "\" has no ", array, ", which ", Describe(node), " needs");
    }
    const Shape& shape = found->second->shape();
    if (std::ranges::equal(shape.extents(), TorchShape(node, spec))) continue;
    return StrCat("\"", module.name, ".", array, "\" has shape ", shape.ToString(), ", but ",
                  Describe(node), " has ", spec.shape.ToString());
  }
  if (module.Has("bias") && std::ranges::none_of(node.parameters, [](const ParameterSpec& spec) {
        return ArrayOf(spec.name) == "bias";
      })) {
    return StrCat("\"", module.name, "\" has a bias, but ", Describe(node), " has none");
  }
  return "";
}

void Fill(const Module& module, size_t index, const Node& node, ParameterStore& store) {
  for (size_t p = 0; p < node.parameters.size(); ++p) {
    const Tensor to = store.Value(int(index), int(p));
    float* const values = to.data<float>();
    const auto found = module.arrays.find(ArrayOf(node.parameters[p].name));
    if (found == module.arrays.end()) {
      std::fill_n(values, to.num_elements(), 0.0F);
      continue;
    }
    const float* const from = found->second->data<float>();
    if (node.layer->type_name() == "FC" && node.parameters[p].name == "weights") {
      const int64_t rows = to.shape()[0], columns = to.shape()[1];
      for (int64_t row = 0; row < rows; ++row) {
        for (int64_t column = 0; column < columns; ++column) {
          values[row * columns + column] = from[column * rows + row];
        }
      }
    } else {
      std::copy_n(from, to.num_elements(), values);
    }
  }
}

absl::Status CheckFinite(const NamedTensors& weights) {
  for (const auto& [name, tensor] : weights) {
    const std::span values(tensor.data<float>(), size_t(tensor.num_elements()));
    if (std::ranges::all_of(values, [](float value) { return std::isfinite(value); })) continue;
    return DataLoss("\"", name, "\" contains NaN or infinity");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<MatchedWeights> FillFromTorch(const NamedTensors& weights, const Graph& graph,
                                             ParameterStore& store,
                                             const TorchWeightsOptions& options) {
  DTNN_RETURN_IF_ERROR(CheckFinite(weights));
  std::vector<size_t> layers;
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    if (!graph.nodes()[i].parameters.empty()) layers.push_back(i);
  }
  std::ranges::sort(layers, {}, [&](size_t i) { return graph.nodes()[i].id; });
  MatchedWeights matched;
  std::vector<std::pair<const Module*, size_t>> pairs;
  std::vector<Module> modules = ModulesOf(weights);
  if (!SortByLayers(graph, modules) && options.by_names) {
    DTNN_RETURN_IF_ERROR(SortByNames(modules));
  }
  size_t next = 0;
  for (const Module& module : modules) {
    if (module.Type().empty()) {
      matched.differing.push_back(
          StrCat("\"", module.name, "\" is not a convolution, product or batch normalisation"));
      continue;
    }
    const Node* node = next < layers.size() ? &graph.nodes()[layers[next]] : nullptr;
    if (node == nullptr || node->layer->type_name() != module.Type()) {
      return InvalidArgument("\"", module.name, "\" is a ", module.Type(), ", where network ",
                             graph.name(), " has ", node == nullptr ? "no layer" : Describe(*node),
                             "; the structures differ");
    }
    const std::string misfit = Misfit(module, *node);
    if (misfit.empty()) {
      pairs.emplace_back(&module, layers[next]);
    } else if (options.partial) {
      matched.differing.push_back(misfit + ": the layer keeps its initial values");
    } else {
      return InvalidArgument(misfit);
    }
    ++next;
  }
  if (next < layers.size()) {
    return InvalidArgument("has no module for ", Describe(graph.nodes()[layers[next]]),
                           " of network ", graph.name(), "; the structures differ");
  }
  if (pairs.empty()) return InvalidArgument("nothing in it fits network ", graph.name());
  for (const auto& [module, index] : pairs) Fill(*module, index, graph.nodes()[index], store);
  store.MarkChanged();
  matched.layers = int(pairs.size());
  return matched;
}

int64_t OutputsOf(const NamedTensors& weights, bool by_names) {
  int64_t outputs = 0;
  std::vector<Module> modules = ModulesOf(weights);
  if (by_names && !SortByNames(modules).ok()) return 0;
  for (const Module& module : modules) {
    if (module.Type() == "FC") outputs = module.arrays.find("weight")->second->shape()[0];
  }
  return outputs;
}

}  // namespace dtnn
