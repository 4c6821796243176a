// An arena of a ParameterStore as named arrays of a file, and back: the parameters themselves, a
// slot of the optimizer state, or a copy of the parameters. The key of an array is a prefix and the
// parameter's Graph::WeightKey.

#ifndef DTNN_MODELS_PARAMETERS_PARAMETER_ARRAYS_H_
#define DTNN_MODELS_PARAMETERS_PARAMETER_ARRAYS_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/device/context.h"
#include "models/graph/graph.h"
#include "models/parameters/parameter_store.h"
#include "models/parameters/weights_layout.h"
#include "tensor/files/array_file.h"
#include "tensor/files/named_tensors.h"

namespace dtnn {

struct ArenaKeys {
  std::string prefix = {};
  bool trainable_only = false;  // an arena laid out as ParameterStore::values
};

// A parameter of the graph and, once it is known, the shape of the file's array for it.
struct ParameterArray {
  size_t node = 0, parameter = 0;
  std::string key = {};
  Shape shape = {};

  const ParameterSpec& spec(const Graph& graph) const {
    return graph.nodes()[node].parameters[parameter];
  }
};
std::vector<ParameterArray> ParameterArrays(const Graph& graph, const ArenaKeys& keys);

// "\"1_Conv2D_weights\", \"1_Conv2D_biases\" and 5 more".
std::string ListKeys(const std::vector<std::string>& keys);

// The arrays of an arena, views of it or of a copy on the host.
absl::StatusOr<NamedTensors> NameArena(const Graph& graph, const ParameterStore& store,
                                       DeviceContext& context, const Tensor& arena,
                                       const ArenaKeys& keys);

// Fills in the shapes of all arrays.
absl::Status ReadShapes(ArrayFileReader& file, std::vector<ParameterArray>& arrays);

// True where the array may stand for the parameter in a file of `layout`: it has its shape there,
// or (1, C, 1, 1) for a vector.
bool ShapeFits(const ParameterArray& array, const Graph& graph, WeightsLayout layout);
// `"7_FC_weights" of layer 7 (FC) has shape (64, 10), but model net needs (64, 3)`.
std::string DescribeMisfit(const ParameterArray& array, const Graph& graph, WeightsLayout layout);

// Reads arrays into their places of `arena`, which is on the host, each when its shape is found
// right. InvalidArgument names the file, the key, the layer and both shapes; `reason` tells why the
// file is taken to be of `layout`.
absl::Status PlaceArrays(const std::vector<ParameterArray>& arrays, ArrayFileReader& file,
                         const Graph& graph, const ParameterStore& store, WeightsLayout layout,
                         std::string_view reason, const Tensor& arena);

// DataLoss that names the file, the key, the layer and the value where one of the arrays'
// values, in their places of `arena`, is NaN or infinite.
absl::Status CheckFinite(const std::vector<ParameterArray>& arrays, const std::string& file,
                         const Graph& graph, const ParameterStore& store, const Tensor& arena);

// A new arena on the host, of the store's dtype: zeros but for the arrays, all of which must be
// there.
absl::StatusOr<Tensor> ReadArena(ArrayFileReader& file, const Graph& graph,
                                 const ParameterStore& store, WeightsLayout layout,
                                 const ArenaKeys& keys);

}  // namespace dtnn

#endif  // DTNN_MODELS_PARAMETERS_PARAMETER_ARRAYS_H_
