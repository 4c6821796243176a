// The nodes of an ONNX graph, one after the other, as layers of a network.

#ifndef DTNN_MODELS_ONNX_IMPORT_GRAPH_H_
#define DTNN_MODELS_ONNX_IMPORT_GRAPH_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "models/onnx/file/onnx.pb.h"
#include "models/onnx/import/operator_reader.h"
#include "tensor/format.h"

namespace dtnn {

// Only what the output depends on is read. `sample`: for an input that does not tell its shape;
// `output`: of several. Result: the output, complete.
absl::StatusOr<ImportedValue> ImportGraph(const onnx::GraphProto& graph,
                                          const std::optional<ImageExtents>& sample,
                                          const std::string& output, ImportState& state);

}  // namespace dtnn

#endif  // DTNN_MODELS_ONNX_IMPORT_GRAPH_H_
