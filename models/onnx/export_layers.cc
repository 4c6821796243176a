#include "models/onnx/export_layers.h"

#include <functional>
#include <map>

#include "kernels/activation/activation.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

constexpr char kRelu[] = "Relu", kSigmoid[] = "Sigmoid", kTanh[] = "Tanh", kAtanh[] = "Atanh";

// An operator of the same name without attributes.
template <const char* kOperator>
absl::Status ExportElementwise(const LayerToExport& layer, GraphWriter& writer) {
  writer.AddNode(kOperator, layer.node.name, layer.inputs, layer.output);
  return absl::OkStatus();
}

absl::Status ExportLeakyRelu(const LayerToExport& layer, GraphWriter& writer) {
  writer.AddNode("LeakyRelu", layer.node.name, layer.inputs, layer.output)
      .Float("alpha", kLeakySlope);
  return absl::OkStatus();
}

absl::Status ExportRelu6(const LayerToExport& layer, GraphWriter& writer) {
  const std::string& name = layer.node.name;
  writer.AddNode("Clip", name,
                 {layer.inputs[0], writer.AddScalar(StrCat(name, "_low"), 0),
                  writer.AddScalar(StrCat(name, "_high"), 6)},
                 layer.output);
  return absl::OkStatus();
}

// log(sigmoid x) = -softplus(-x), which loses nothing where the sigmoid is near 0.
absl::Status ExportLog(const LayerToExport& layer, GraphWriter& writer) {
  const std::string& name = layer.node.name;
  const std::string minus = writer.NewName(StrCat(name, "_minus")),
                    plus = writer.NewName(StrCat(name, "_softplus"));
  writer.AddNode("Neg", StrCat(name, "/Neg"), layer.inputs, minus);
  writer.AddNode("Softplus", StrCat(name, "/Softplus"), {minus}, plus);
  writer.AddNode("Neg", name, {plus}, layer.output);
  return absl::OkStatus();
}

absl::Status ExportSoftmax(const LayerToExport& layer, GraphWriter& writer) {
  writer.AddNode("Softmax", layer.node.name, layer.inputs, layer.output).Int("axis", 1);
  return absl::OkStatus();
}

absl::Status ExportFlatten(const LayerToExport& layer, GraphWriter& writer) {
  writer.AddNode("Flatten", layer.node.name, layer.inputs, layer.output).Int("axis", 1);
  return absl::OkStatus();
}

absl::Status ExportDropout(const LayerToExport& layer, GraphWriter& writer) {
  const std::string& name = layer.node.name;
  const auto rate = float(layer.read.Real("rate"));
  writer.AddNode("Dropout", name, {layer.inputs[0], writer.AddScalar(StrCat(name, "_rate"), rate)},
                 layer.output);
  return absl::OkStatus();
}

absl::Status ExportAddition(const LayerToExport& layer, GraphWriter& writer) {
  writer.AddNode(layer.inputs.size() == 2 ? "Add" : "Sum", layer.node.name, layer.inputs,
                 layer.output);
  return absl::OkStatus();
}

absl::Status ExportConcatenation(const LayerToExport& layer, GraphWriter& writer) {
  writer.AddNode("Concat", layer.node.name, layer.inputs, layer.output).Int("axis", 1);
  return absl::OkStatus();
}

}  // namespace

ExportLayer FindExport(std::string_view type) {
  static const auto& table = *new std::map<std::string_view, ExportLayer, std::less<>>{
      {"Conv2D", ExportConv2d},
      {"FC", ExportFc},
      {"BatchNormalization", ExportBatchNormalization},
      {"MaxPool2D", ExportMaxPool2d},
      {"AveragePool2D", ExportAveragePool2d},
      {"AdaptiveAveragePool2D", ExportAdaptiveAveragePool2d},
      {"Dropout", ExportDropout},
      {"Flatten", ExportFlatten},
      {"Softmax", ExportSoftmax},
      {"AdditionBlock", ExportAddition},
      {"ConcatenationBlock", ExportConcatenation},
      {"Relu", ExportElementwise<kRelu>},
      {"Sigmoid", ExportElementwise<kSigmoid>},
      {"Tanh", ExportElementwise<kTanh>},
      {"LeakyRelu", ExportLeakyRelu},
      {"Relu6", ExportRelu6},
      {"Arctanh", ExportElementwise<kAtanh>},
      {"Log", ExportLog},
  };
  const auto found = table.find(type);
  return found == table.end() ? nullptr : found->second;
}

}  // namespace dtnn
