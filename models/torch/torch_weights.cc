#include "models/torch/torch_weights.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "models/torch/torch_match.h"
#include "models/torch/torch_modules.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

absl::Status Fill(const TorchModule& module, size_t index, const Node& node,
                  ParameterStore& store) {
  for (size_t p = 0; p < node.parameters.size(); ++p) {
    const Tensor to = store.Value(int(index), int(p));
    float* const values = to.data<float>();
    const auto found = module.arrays.find(ArrayOf(module, node.parameters[p].name));
    if (found == module.arrays.end()) {
      std::fill_n(values, to.num_elements(), 0.0F);
      continue;
    }
    if (found->second->num_elements() != to.num_elements()) {
      return absl::InternalError(StrCat("\"", module.name, ".", found->first, "\" has ",
                                        found->second->num_elements(), " elements, but ",
                                        Describe(node), " has ", to.num_elements()));
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
  return absl::OkStatus();
}

// A line about the layers whose biases the file lacks. A batch normalisation after the layer has
// one, so that structures of PyTorch have none there.
std::string WithoutBias(const Graph& graph,
                        std::span<const std::pair<const TorchModule*, size_t>> pairs) {
  std::set<int> normalized;
  for (const Node& node : graph.nodes()) {
    if (node.layer->type_name() == "BatchNormalization") normalized.insert(node.inputs[0]);
  }
  std::string line;
  for (const auto& [module, index] : pairs) {
    const Node& node = graph.nodes()[index];
    if (module->Has("bias") || normalized.contains(int(index)) ||
        std::ranges::find(node.parameters, "biases", &ParameterSpec::name) ==
            node.parameters.end()) {
      continue;
    }
    StrAppend(&line, line.empty() ? "the file has no biases, so they are zeros, of " : ", ",
              Describe(node));
  }
  return line;
}

// Arrays of vision transformers, by the last part of their names: torchvision's and timm's.
constexpr std::string_view kOfAttention[] = {"class_token", "cls_token",      "pos_embedding",
                                             "pos_embed",   "in_proj_weight", "in_proj_bias"};

absl::Status CheckKinds(const NamedTensors& weights) {
  for (const auto& [name, tensor] : weights) {
    const std::string_view array = std::string_view(name).substr(name.rfind('.') + 1);
    if (std::ranges::find(kOfAttention, array) == std::end(kOfAttention)) continue;
    return Unimplemented(Quoted(name),
                         " is a token, an embedding or a product of attention, which weights alone "
                         "do not fill; load them into their network in PyTorch, export that as "
                         "ONNX, torch.onnx.export, and import the .onnx file, which has them");
  }
  return absl::OkStatus();
}

absl::Status CheckValues(const NamedTensors& weights) {
  for (const auto& [name, tensor] : weights) {
    const std::span values(tensor.data<float>(), size_t(tensor.num_elements()));
    if (name.ends_with("running_var") &&
        std::ranges::any_of(values, [](float value) { return value < 0; })) {
      return DataLoss("\"", name, "\" has a negative number; it is a variance");
    }
    if (std::ranges::all_of(values, [](float value) { return std::isfinite(value); })) continue;
    return DataLoss("\"", name, "\" contains NaN or infinity");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<MatchedWeights> FillFromTorch(const NamedTensors& weights, const Graph& graph,
                                             ParameterStore& store,
                                             const TorchWeightsOptions& options) {
  DTNN_RETURN_IF_ERROR(CheckKinds(weights));
  DTNN_RETURN_IF_ERROR(CheckValues(weights));
  std::vector<size_t> layers;
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    if (!graph.nodes()[i].parameters.empty()) layers.push_back(i);
  }
  std::ranges::sort(layers, {}, [&](size_t i) { return graph.nodes()[i].id; });
  MatchedWeights matched;
  std::vector<TorchModule> modules = ModulesOf(weights);
  const std::string heads = RemoveAuxiliaryHeads(&graph, modules);
  if (!heads.empty()) matched.differing.push_back(heads);
  if (!SortByLayers(graph, modules) && options.by_names) {
    DTNN_RETURN_IF_ERROR(SortByNames(modules));
  }
  MoveLayerScales(modules);
  std::vector<const TorchModule*> typed;
  for (const TorchModule& module : modules) {
    if (module.Type().empty()) {
      matched.differing.push_back(
          StrCat("\"", module.name, "\" is not a convolution, product, normalisation or PReLU"));
    } else {
      typed.push_back(&module);
    }
  }
  const TorchMatch match = MatchModules(typed, graph, layers);
  const std::string differences = Differences(match, graph, /*misfits=*/!options.partial);
  if (!differences.empty()) return InvalidArgument(differences);
  std::vector<std::pair<const TorchModule*, size_t>> pairs;
  for (const TorchPair& pair : match.pairs) {
    if (pair.misfit.empty()) {
      pairs.emplace_back(pair.module, pair.node);
    } else {
      matched.differing.push_back(pair.misfit + ": the layer keeps its initial values");
    }
  }
  if (pairs.empty()) return InvalidArgument("nothing in it fits network ", graph.name());
  for (const auto& [module, index] : pairs) {
    DTNN_RETURN_IF_ERROR(Fill(*module, index, graph.nodes()[index], store));
  }
  store.MarkChanged();
  std::string without_bias = WithoutBias(graph, pairs);
  if (!without_bias.empty()) matched.differing.push_back(std::move(without_bias));
  matched.layers = int(pairs.size());
  return matched;
}

int64_t OutputsOf(const NamedTensors& weights, bool by_names) {
  int64_t outputs = 0;
  std::vector<TorchModule> modules = ModulesOf(weights);
  RemoveAuxiliaryHeads(nullptr, modules);
  if (by_names && !SortByNames(modules).ok()) return 0;
  for (const TorchModule& module : modules) {
    if (module.Type() == "FC") outputs = module.arrays.find("weight")->second->shape()[0];
  }
  return outputs;
}

}  // namespace dtnn
