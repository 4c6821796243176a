// A network of an ONNX file as a saved model: convolutional networks, as PyTorch exports them.
//
// Files are not trusted: sizes are compared with the file before memory is allocated, values that
// no earlier node makes, names that stand for two things and numbers out of range are errors. An
// error names the file, the node, the operator, what is wrong and what would help. Layers have the
// names of the nodes, or of PyTorch's modules where weights have these; parameters, statistics of
// batch normalisations and rates of dropout come along, initialisers and constants of training do
// not. A file that ExportModel made gives the same network again, bit for bit, its preprocessing,
// classes, and ranges for 8 bits. Of other files, (x - mean) / std of each channel, where that is
// the first that a network does, becomes preprocessing.

#ifndef DTNN_MODELS_ONNX_IMPORT_IMPORT_H_
#define DTNN_MODELS_ONNX_IMPORT_IMPORT_H_

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "data/normalize.h"
#include "kernels/device/context.h"
#include "layers/base/layer.h"
#include "models/onnx/file/onnx.pb.h"
#include "models/parameters/parameter_store.h"
#include "models/serving/saved_model.h"
#include "optim/losses/loss.h"
#include "tensor/format.h"

namespace dtnn {

// QuantizationRecord::method of ranges that stand in an ONNX file.
inline constexpr std::string_view kRangesOfOnnx = "onnx";

struct ImportOptions {
  TensorFormat format = TensorFormat::kNHWC;
  // For an input whose height, width or channels the file does not tell.
  std::optional<ImageExtents> sample = {};
  std::string output = {};  // of a model that has several: its name
  // What is added after the last layer, unless that is it: PyTorch's networks end in logits.
  FinalActivation final_activation = FinalActivation::kOther;
};

struct ImportedModel {
  SavedModel model;
  std::unique_ptr<ParameterStore> store;
  // With which the network of the file begins: the end of the model's preprocessing.
  Normalization normalization = {};
  std::vector<std::string> notes;  // for people: what differs from what was asked for
};

// `path`: for messages, for files beside it, and for the name of a network that has none.
absl::StatusOr<ImportedModel> ImportModel(const onnx::ModelProto& onnx, std::string_view path,
                                          DeviceContext& host, const ImportOptions& options = {});

// The layer to add after a network's last one for this activation; null: none.
std::shared_ptr<const Layer> MissingLayer(FinalActivation wanted, const Layer& last);

// The loss that suits the last layer, by its name; empty: none is known.
std::string_view LossOfNetwork(const Graph& graph);

}  // namespace dtnn

#endif  // DTNN_MODELS_ONNX_IMPORT_IMPORT_H_
