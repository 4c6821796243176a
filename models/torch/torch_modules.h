// The modules of a file of PyTorch's weights, and the order in which they run (torch_weights.h).

#ifndef DTNN_MODELS_TORCH_TORCH_MODULES_H_
#define DTNN_MODELS_TORCH_TORCH_MODULES_H_

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "models/graph/graph.h"
#include "tensor/files/named_tensors.h"
#include "tensor/tensor.h"

namespace dtnn {

// A module of the file, and its arrays by the last part of their names.
struct TorchModule {
  std::string name;
  std::map<std::string, const Tensor*, std::less<>> arrays;

  bool Has(std::string_view array) const { return arrays.contains(array); }
  // The name of the array that is a factor for each channel, ConvNeXt's: torchvision's, or timm's.
  std::string_view LayerScale() const {
    if (Has("layer_scale")) return "layer_scale";
    return Has("gamma") && arrays.size() == 1 ? "gamma" : "";
  }
  // The type of layer that has such arrays; empty: none. A transposed convolution is a Conv2D too.
  std::string_view Type() const {
    if (Has("running_mean")) return "BatchNormalization";
    if (!LayerScale().empty()) return "Conv2D";  // of one pixel, depthwise
    if (!Has("weight")) return "";
    const int rank = arrays.find("weight")->second->shape().rank();
    if (rank == 1) return Has("bias") ? "GroupNormalization" : "PRelu";
    return rank == 4 ? "Conv2D" : rank == 2 ? "FC" : "";
  }
};

// In the order of the file. The arrays stay those of `weights`.
std::vector<TorchModule> ModulesOf(const NamedTensors& weights);
// Takes out the heads that only training has, by their names, where the network has no layer of
// these, and returns a line about them; empty: there are none.
std::string RemoveAuxiliaryHeads(const Graph* graph, std::vector<TorchModule>& modules);
// Sorts modules by their names, as torchvision and timm call their modules. InvalidArgument where
// these do not tell which of two runs first.
absl::Status SortByNames(std::vector<TorchModule>& modules);
// Moves each LayerScale, which stands before the modules of its block, to their end, where it
// runs.
void MoveLayerScales(std::vector<TorchModule>& modules);
// Sorts modules as the layers are that have their names, if all that become layers have one: a
// network that was imported with PyTorch's names. False: nothing was done.
bool SortByLayers(const Graph& graph, std::vector<TorchModule>& modules);

}  // namespace dtnn

#endif  // DTNN_MODELS_TORCH_TORCH_MODULES_H_
