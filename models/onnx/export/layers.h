// How each type of layer is written as ONNX operators: one function per type, one file per family.
//
// To add one: a function in the file of its family, and its line in the table of layers.cc.

#ifndef DTNN_MODELS_ONNX_EXPORT_LAYERS_H_
#define DTNN_MODELS_ONNX_EXPORT_LAYERS_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "layers/base/attributes.h"
#include "models/graph/graph.h"
#include "models/onnx/export/graph_writer.h"
#include "tensor/format.h"
#include "tensor/tensor.h"

namespace dtnn {

struct LayerToExport {
  const Node& node;                      // of a graph in NCHW
  AttributeReader& read;                 // the layer's attributes
  std::vector<std::string> inputs = {};  // names of ONNX values
  std::string output = {};
  std::vector<Tensor> parameters = {};  // float32, as the layer lists them
  bool in_bytes = false;                // the layer multiplies bytes
};

// The first input, an image.
inline ImageExtents InputOf(const LayerToExport& layer) {
  return ExtentsOf(layer.node.input_shapes[0], TensorFormat::kNCHW);
}

// Places begin .. end - 1 of an axis of the image `value`, as the layer's output.
void WriteSlice(const LayerToExport& layer, GraphWriter& writer, const std::string& value,
                int64_t axis, int64_t begin, int64_t end);

// Writes the layer's operators, the last of which makes `layer.output`. Attributes that are not
// read are not checked: they are those of training.
using ExportLayer = absl::Status (*)(const LayerToExport& layer, GraphWriter& writer);

// Null for a type of layer that is not in the table.
ExportLayer FindExport(std::string_view type);

absl::Status ExportConv2d(const LayerToExport& layer, GraphWriter& writer);
absl::Status ExportTransposedConv2d(const LayerToExport& layer, GraphWriter& writer);
absl::Status ExportFc(const LayerToExport& layer, GraphWriter& writer);
absl::Status ExportBatchNormalization(const LayerToExport& layer, GraphWriter& writer);
absl::Status ExportGroupNormalization(const LayerToExport& layer, GraphWriter& writer);
absl::Status ExportMaxPool2d(const LayerToExport& layer, GraphWriter& writer);
absl::Status ExportAveragePool2d(const LayerToExport& layer, GraphWriter& writer);
absl::Status ExportAdaptiveAveragePool2d(const LayerToExport& layer, GraphWriter& writer);
absl::Status ExportUpsample2d(const LayerToExport& layer, GraphWriter& writer);
absl::Status ExportPad2d(const LayerToExport& layer, GraphWriter& writer);
absl::Status ExportSlice2d(const LayerToExport& layer, GraphWriter& writer);
absl::Status ExportChannelShuffle(const LayerToExport& layer, GraphWriter& writer);
absl::Status ExportChannelSlice(const LayerToExport& layer, GraphWriter& writer);
absl::Status ExportClassToken(const LayerToExport& layer, GraphWriter& writer);
absl::Status ExportPositionEmbedding(const LayerToExport& layer, GraphWriter& writer);
absl::Status ExportPixelSlice(const LayerToExport& layer, GraphWriter& writer);
absl::Status ExportGroupSoftmax(const LayerToExport& layer, GraphWriter& writer);
absl::Status ExportScores(const LayerToExport& layer, GraphWriter& writer);
absl::Status ExportWeightedSum(const LayerToExport& layer, GraphWriter& writer);

}  // namespace dtnn

#endif  // DTNN_MODELS_ONNX_EXPORT_LAYERS_H_
