// Layers with weights.

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

#include "layers/normalization/batch_normalization.h"
#include "layers/normalization/group_normalization.h"
#include "models/onnx/export/layers.h"
#include "tensor/errors.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

void AddBias(const LayerToExport& layer, GraphWriter& writer, std::vector<std::string>& inputs) {
  if (layer.parameters.size() < 2) return;
  const Tensor& biases = layer.parameters[1];
  inputs.push_back(writer.AddTensor(StrCat(layer.node.name, "_biases"), biases, biases.shape()));
}

}  // namespace

absl::Status ExportConv2d(const LayerToExport& layer, GraphWriter& writer) {
  const std::string& name = layer.node.name;
  const Tensor& weights = layer.parameters[0];
  Shape shape = weights.shape();  // (out, in, kh, kw)
  int64_t groups = layer.read.Has("groups") ? layer.read.Int("groups") : 1;
  if (shape.rank() == 2) shape = {shape[0], shape[1], 1, 1};  // pointwise
  if (shape.rank() == 3) {                                    // depthwise
    groups = shape[0];
    shape = {shape[0], 1, shape[1], shape[2]};
  }
  std::vector<std::string> inputs = {
      layer.inputs[0],
      writer.AddWeights(StrCat(name, "_weights"), weights, shape, /*axis=*/0, layer.in_bytes)};
  AddBias(layer, writer, inputs);
  writer.AddNode("Conv", name, inputs, layer.output)
      .Int("group", groups)
      .Ints("kernel_shape", std::array{shape[2], shape[3]})
      .TwoInts("strides", layer.read.TwoInts("stride"))
      .TwoInts("dilations", layer.read.TwoInts("dilation"))
      .Pads(layer.read.TwoInts("padding"));
  return absl::OkStatus();
}

absl::Status ExportTransposedConv2d(const LayerToExport& layer, GraphWriter& writer) {
  const std::string& name = layer.node.name;
  const Tensor& weights = layer.parameters[0];
  const Shape& shape = weights.shape();  // (in, out, kh, kw)
  std::vector<std::string> inputs = {layer.inputs[0],
                                     writer.AddTensor(StrCat(name, "_weights"), weights, shape)};
  AddBias(layer, writer, inputs);
  writer.AddNode("ConvTranspose", name, inputs, layer.output)
      .Int("group", layer.read.Int("groups"))
      .Ints("kernel_shape", std::array{shape[2], shape[3]})
      .TwoInts("strides", layer.read.TwoInts("stride"))
      .TwoInts("dilations", layer.read.TwoInts("dilation"))
      .TwoInts("output_padding", layer.read.TwoInts("output_padding"))
      .Pads(layer.read.TwoInts("padding"));
  return absl::OkStatus();
}

absl::Status ExportFc(const LayerToExport& layer, GraphWriter& writer) {
  const std::string& name = layer.node.name;
  std::string input = layer.inputs[0];
  if (layer.read.Switch("image")) {
    const std::string flat = writer.NewName(StrCat(name, "_flat"));
    writer.AddNode("Flatten", StrCat(name, "/Flatten"), {input}, flat).Int("axis", 1);
    input = flat;
  }
  const Tensor& weights = layer.parameters[0];  // (in, out)
  std::vector<std::string> inputs = {
      input, writer.AddWeights(StrCat(name, "_weights"), weights, weights.shape(), /*axis=*/1,
                               layer.in_bytes)};
  AddBias(layer, writer, inputs);
  writer.AddNode("Gemm", name, inputs, layer.output);
  return absl::OkStatus();
}

absl::Status ExportBatchNormalization(const LayerToExport& layer, GraphWriter& writer) {
  using Layer = BatchNormalizationLayer;
  const std::string& name = layer.node.name;
  std::vector<std::string> inputs = layer.inputs;
  for (const auto& [parameter, ending] :
       {std::pair(Layer::kGamma, "_gamma"), std::pair(Layer::kBeta, "_beta"),
        std::pair(Layer::kRunningMean, "_running_mean"),
        std::pair(Layer::kRunningVar, "_running_var")}) {
    const Tensor& values = layer.parameters[parameter];
    inputs.push_back(writer.AddTensor(StrCat(name, ending), values, values.shape()));
  }
  writer.AddNode("BatchNormalization", name, inputs, layer.output)
      .Float("epsilon", layer.read.Real("epsilon"))
      .Float("momentum", layer.read.Real("momentum"));
  return absl::OkStatus();
}

namespace {

using Norm = GroupNormalizationLayer;

std::string Vector(const LayerToExport& layer, GraphWriter& writer, Norm::Parameter parameter,
                   const Shape& shape) {
  return writer.AddTensor(StrCat(layer.node.name, parameter == Norm::kGamma ? "_gamma" : "_beta"),
                          layer.parameters[parameter], shape);
}

// As PyTorch writes it: an InstanceNormalization of groups that are one axis each, and what follows
// for each channel.
absl::Status WriteNormalizationOfGroups(const LayerToExport& layer, GraphWriter& writer,
                                        int64_t groups, double epsilon) {
  const std::string& name = layer.node.name;
  const ImageExtents image = InputOf(layer);
  const auto value = [&](const char* ending) { return writer.NewName(StrCat(name, ending)); };
  const std::string grouped = value("_grouped"), of_groups = value("_of_groups"),
                    normalized = value("_normalized"), scaled = value("_scaled");
  DTNN_ASSIGN_OR_RETURN(const Tensor zeros, Tensor::Zeros(DType::kFloat32, Shape{groups}));
  DTNN_ASSIGN_OR_RETURN(const Tensor ones, Tensor::Zeros(DType::kFloat32, Shape{groups}));
  std::fill_n(ones.data<float>(), groups, 1.0F);
  writer.AddNode("Reshape", StrCat(name, "/Groups"),
                 {layer.inputs[0], writer.AddIntegers(StrCat(name, "_groups"),
                                                      std::array{int64_t{0}, groups, int64_t{-1}})},
                 grouped);
  writer
      .AddNode("InstanceNormalization", name,
               {grouped, writer.AddTensor(StrCat(name, "_ones"), ones, ones.shape()),
                writer.AddTensor(StrCat(name, "_zeros"), zeros, zeros.shape())},
               of_groups)
      .Float("epsilon", epsilon);
  writer.AddNode("Reshape", StrCat(name, "/Image"),
                 {of_groups, writer.AddIntegers(StrCat(name, "_shape"),
                                                std::array{int64_t{-1}, image.channels,
                                                           image.height, image.width})},
                 normalized);
  const Shape each{image.channels, 1, 1};
  writer.AddNode("Mul", StrCat(name, "/Scale"),
                 {normalized, Vector(layer, writer, Norm::kGamma, each)}, scaled);
  writer.AddNode("Add", StrCat(name, "/Shift"), {scaled, Vector(layer, writer, Norm::kBeta, each)},
                 layer.output);
  return absl::OkStatus();
}

}  // namespace

// With the opset of our files: a LayerNormalization of each pixel, between two Transposes, as
// PyTorch writes it, or of the whole image; or an InstanceNormalization, of channels or of groups.
absl::Status ExportGroupNormalization(const LayerToExport& layer, GraphWriter& writer) {
  const std::string& name = layer.node.name;
  const int64_t channels = layer.parameters[Norm::kGamma].num_elements();
  const int64_t groups = layer.read.Int("groups");
  const double epsilon = layer.read.Real("epsilon");
  const auto inputs = [&](const std::string& x, const Shape& shape) -> std::array<std::string, 3> {
    return {x, Vector(layer, writer, Norm::kGamma, shape),
            Vector(layer, writer, Norm::kBeta, shape)};
  };
  if (layer.read.Switch("per_pixel")) {
    if (groups > 1) return Unimplemented("normalises groups of each pixel, which ONNX cannot");
    constexpr std::array<int64_t, 4> kToLast = {0, 2, 3, 1}, kToFirst = {0, 3, 1, 2};
    const std::string last = writer.NewName(StrCat(name, "_last")),
                      normalized = writer.NewName(StrCat(name, "_normalized"));
    writer.AddNode("Transpose", StrCat(name, "/ToLast"), {layer.inputs[0]}, last)
        .Ints("perm", kToLast);
    writer.AddNode("LayerNormalization", name, inputs(last, Shape{channels}), normalized)
        .Int("axis", -1)
        .Float("epsilon", epsilon);
    writer.AddNode("Transpose", StrCat(name, "/ToFirst"), {normalized}, layer.output)
        .Ints("perm", kToFirst);
  } else if (groups == 1) {
    writer
        .AddNode("LayerNormalization", name, inputs(layer.inputs[0], Shape{channels, 1, 1}),
                 layer.output)
        .Int("axis", 1)
        .Float("epsilon", epsilon);
  } else if (groups == channels) {
    writer
        .AddNode("InstanceNormalization", name, inputs(layer.inputs[0], Shape{channels}),
                 layer.output)
        .Float("epsilon", epsilon);
  } else {
    return WriteNormalizationOfGroups(layer, writer, groups, epsilon);
  }
  return absl::OkStatus();
}

}  // namespace dtnn
