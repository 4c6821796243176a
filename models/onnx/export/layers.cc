#include "models/onnx/export/layers.h"

#include <cmath>
#include <functional>
#include <map>

#include "kernels/activation/activation.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

constexpr char kRelu[] = "Relu", kSigmoid[] = "Sigmoid", kTanh[] = "Tanh", kAtanh[] = "Atanh",
               kHardSwish[] = "HardSwish", kSoftplus[] = "Softplus", kMul[] = "Mul";

// An operator of the same name without attributes.
template <const char* kOperator>
absl::Status ExportElementwise(const LayerToExport& layer, GraphWriter& writer) {
  writer.AddNode(kOperator, layer.node.name, layer.inputs, layer.output);
  return absl::OkStatus();
}

absl::Status ExportLeakyRelu(const LayerToExport& layer, GraphWriter& writer) {
  const double slope =
      layer.read.Has("slope") ? layer.read.Real("slope") : ActivationNumbers().slope;
  writer.AddNode("LeakyRelu", layer.node.name, layer.inputs, layer.output).Float("alpha", slope);
  return absl::OkStatus();
}

absl::Status ExportPRelu(const LayerToExport& layer, GraphWriter& writer) {
  const std::string& name = layer.node.name;
  const Tensor& slopes = layer.parameters[0];
  const int64_t count = slopes.shape()[0];
  const bool channels = count > 1 && layer.node.output.rank() == 3;
  writer.AddNode("PRelu", name,
                 {layer.inputs[0], writer.AddTensor(StrCat(name, ".weight"), slopes,
                                                    channels ? Shape{count, 1, 1} : Shape{count})},
                 layer.output);
  return absl::OkStatus();
}

absl::Status ExportElu(const LayerToExport& layer, GraphWriter& writer) {
  writer.AddNode("Elu", layer.node.name, layer.inputs, layer.output)
      .Float("alpha", layer.read.Real("alpha"));
  return absl::OkStatus();
}

void WriteClip(const LayerToExport& layer, GraphWriter& writer, double low, double high) {
  const std::string& name = layer.node.name;
  writer.AddNode("Clip", name,
                 {layer.inputs[0], writer.AddScalar(StrCat(name, "_low"), float(low)),
                  writer.AddScalar(StrCat(name, "_high"), float(high))},
                 layer.output);
}
absl::Status ExportRelu6(const LayerToExport& layer, GraphWriter& writer) {
  WriteClip(layer, writer, 0, 6);
  return absl::OkStatus();
}
absl::Status ExportClip(const LayerToExport& layer, GraphWriter& writer) {
  WriteClip(layer, writer, layer.read.Real("low"), layer.read.Real("high"));
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

// x tanh(softplus x), as PyTorch writes it: there is an operator from opset 18 on only.
absl::Status ExportMish(const LayerToExport& layer, GraphWriter& writer) {
  const std::string &name = layer.node.name, &x = layer.inputs[0];
  const std::string plus = writer.NewName(StrCat(name, "_softplus")),
                    tanh = writer.NewName(StrCat(name, "_tanh"));
  writer.AddNode("Softplus", StrCat(name, "/Softplus"), {x}, plus);
  writer.AddNode("Tanh", StrCat(name, "/Tanh"), {plus}, tanh);
  writer.AddNode("Mul", name, {x, tanh}, layer.output);
  return absl::OkStatus();
}

absl::Status ExportHardSigmoid(const LayerToExport& layer, GraphWriter& writer) {
  writer.AddNode("HardSigmoid", layer.node.name, layer.inputs, layer.output)
      .Float("alpha", 1.0 / 6)
      .Float("beta", 0.5);
  return absl::OkStatus();
}

absl::Status ExportSilu(const LayerToExport& layer, GraphWriter& writer) {
  const std::string &name = layer.node.name, &x = layer.inputs[0];
  const std::string sigmoid = writer.NewName(StrCat(name, "_sigmoid"));
  writer.AddNode("Sigmoid", StrCat(name, "/Sigmoid"), {x}, sigmoid);
  writer.AddNode("Mul", name, {x, sigmoid}, layer.output);
  return absl::OkStatus();
}

// x (erf(x / sqrt 2) + 1) / 2, as PyTorch writes it: there is an operator from opset 20 on only.
absl::Status ExportGelu(const LayerToExport& layer, GraphWriter& writer) {
  const std::string &name = layer.node.name, &x = layer.inputs[0];
  const auto step = [&](const char* type, const std::string& a, const char* ending, float b) {
    const std::string result = writer.NewName(StrCat(name, "_", ending));
    writer.AddNode(type, StrCat(name, "/", type), {a, writer.AddScalar(StrCat(result, "_by"), b)},
                   result);
    return result;
  };
  const std::string over = step("Div", x, "over_root_two", std::sqrt(2.0F)),
                    erf = writer.NewName(StrCat(name, "_erf"));
  writer.AddNode("Erf", StrCat(name, "/Erf"), {over}, erf);
  const std::string plus = step("Add", erf, "plus_one", 1),
                    twice = writer.NewName(StrCat(name, "_twice"));
  writer.AddNode("Mul", StrCat(name, "/Mul"), {x, plus}, twice);
  writer.AddNode("Mul", name, {twice, writer.AddScalar(StrCat(name, "_half"), 0.5)}, layer.output);
  return absl::OkStatus();
}

absl::Status ExportScale(const LayerToExport& layer, GraphWriter& writer) {
  const std::string& name = layer.node.name;
  const auto factor = float(layer.read.Real("factor"));
  writer.AddNode("Mul", name, {layer.inputs[0], writer.AddScalar(StrCat(name, "_factor"), factor)},
                 layer.output);
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
      {"TransposedConv2D", ExportTransposedConv2d},
      {"FC", ExportFc},
      {"BatchNormalization", ExportBatchNormalization},
      {"GroupNormalization", ExportGroupNormalization},
      {"MaxPool2D", ExportMaxPool2d},
      {"AveragePool2D", ExportAveragePool2d},
      {"AdaptiveAveragePool2D", ExportAdaptiveAveragePool2d},
      {"Upsample2D", ExportUpsample2d},
      {"Pad2D", ExportPad2d},
      {"Slice2D", ExportSlice2d},
      {"ChannelShuffle", ExportChannelShuffle},
      {"ChannelSlice", ExportChannelSlice},
      {"Scale", ExportScale},
      {"ClassToken", ExportClassToken},
      {"PositionEmbedding", ExportPositionEmbedding},
      {"PixelSlice", ExportPixelSlice},
      {"GroupSoftmax", ExportGroupSoftmax},
      {"Dropout", ExportDropout},
      {"Flatten", ExportFlatten},
      {"Softmax", ExportSoftmax},
      {"AdditionBlock", ExportAddition},
      {"ConcatenationBlock", ExportConcatenation},
      {"MultiplicationBlock", ExportElementwise<kMul>},
      {"ScoresBlock", ExportScores},
      {"WeightedSumBlock", ExportWeightedSum},
      {"Relu", ExportElementwise<kRelu>},
      {"Sigmoid", ExportElementwise<kSigmoid>},
      {"Tanh", ExportElementwise<kTanh>},
      {"LeakyRelu", ExportLeakyRelu},
      {"Relu6", ExportRelu6},
      {"Arctanh", ExportElementwise<kAtanh>},
      {"Log", ExportLog},
      {"HardSigmoid", ExportHardSigmoid},
      {"SiLU", ExportSilu},
      {"GELU", ExportGelu},
      {"HardSwish", ExportElementwise<kHardSwish>},
      {"ELU", ExportElu},
      {"PRelu", ExportPRelu},
      {"Clip", ExportClip},
      {"Softplus", ExportElementwise<kSoftplus>},
      {"Mish", ExportMish},
  };
  const auto found = table.find(type);
  return found == table.end() ? nullptr : found->second;
}

}  // namespace dtnn
