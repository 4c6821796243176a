// Weights under PyTorch's names as the parameters of a network of the same structure.
//
// Where all modules of the file have names of layers, as in a network that was imported from
// PyTorch, these match. Else the modules, in the order in which they run, and the layers with
// parameters, by their ids, must be of the same kinds, one after the other. A .pth file has modules
// in the order in which PyTorch registered them. Others are sorted by names, as torchvision and
// timm call their modules; names that do not tell are an error. Heads that only training has
// ("aux1") are skipped, which is said. A module without a bias in the file gets one of zeros, where
// the layer has one: which is said, but before a batch normalisation, which has one.

#ifndef DTNN_MODELS_TORCH_TORCH_WEIGHTS_H_
#define DTNN_MODELS_TORCH_TORCH_WEIGHTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "models/graph/graph.h"
#include "models/parameters/parameter_store.h"
#include "tensor/files/named_tensors.h"

namespace dtnn {

struct TorchWeightsOptions {
  // Layers whose arrays have another shape, such as the last one for other classes, keep their
  // values; else that is an error.
  bool partial = false;
  bool by_names = false;  // the file has its arrays in another order than that of the modules
};

struct MatchedWeights {
  int layers = 0;                      // that were filled
  std::vector<std::string> differing;  // what differs, a line each
};

// Fills `store`, the float32 parameters of `graph`, which is in NCHW, on the host. InvalidArgument
// where kinds or, unless `partial`, shapes differ, naming all modules and layers that do, at most
// 20 of a kind; nothing has changed then.
absl::StatusOr<MatchedWeights> FillFromTorch(const NamedTensors& weights, const Graph& graph,
                                             ParameterStore& store,
                                             const TorchWeightsOptions& options = {});

// Outputs of the last fully connected module of the file; 0 without one.
int64_t OutputsOf(const NamedTensors& weights, bool by_names);

}  // namespace dtnn

#endif  // DTNN_MODELS_TORCH_TORCH_WEIGHTS_H_
