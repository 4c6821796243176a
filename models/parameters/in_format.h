// A network and its parameters in the other tensor format, or in the same one: for files and
// programs that know one format only.

#ifndef DTNN_MODELS_PARAMETERS_IN_FORMAT_H_
#define DTNN_MODELS_PARAMETERS_IN_FORMAT_H_

#include <memory>

#include "absl/status/statusor.h"
#include "kernels/device/context.h"
#include "models/graph/graph.h"
#include "models/parameters/parameter_store.h"
#include "tensor/dtype.h"
#include "tensor/format.h"

namespace dtnn {

struct NetworkInFormat {
  Graph graph;
  std::unique_ptr<ParameterStore> store;
};

// Whether what the network computes has another order in the other format: an image, or its
// elements.
bool OutputHasFormat(const Graph& graph);

// The same network: its nodes, and the values of `store`, of `graph`, in the order of `format` and
// converted to `dtype`. On the host. Unimplemented naming a parameter whose order is not known,
// since features of several images meet in one sum.
absl::StatusOr<NetworkInFormat> InFormat(const Graph& graph, const ParameterStore& store,
                                         DeviceContext& host, TensorFormat format, DType dtype);

}  // namespace dtnn

#endif  // DTNN_MODELS_PARAMETERS_IN_FORMAT_H_
