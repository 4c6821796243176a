// Weights under PyTorch's names as the parameters of a network of the same structure.
//
// torchvision's modules stand in the network's order: the modules of the file, sorted by their
// names as torchvision calls its modules, and the layers with parameters, by their ids, must be of
// the same kinds, one after the other. A convolution without a bias in the file gets one of zeros,
// where the layer has one.

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
};

struct MatchedWeights {
  int layers = 0;                      // that were filled
  std::vector<std::string> differing;  // what did not match, a line each
};

// Fills `store`, the float32 parameters of `graph`, which is in NCHW, on the host. InvalidArgument
// where kinds or, unless `partial`, shapes differ, naming module and layer; nothing has changed
// then.
absl::StatusOr<MatchedWeights> FillFromTorch(const NamedTensors& weights, const Graph& graph,
                                             ParameterStore& store,
                                             const TorchWeightsOptions& options = {});

// Outputs of the last fully connected module of the file; 0 without one.
int64_t OutputsOf(const NamedTensors& weights);

}  // namespace dtnn

#endif  // DTNN_MODELS_TORCH_TORCH_WEIGHTS_H_
