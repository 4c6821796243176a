// Normalisations within each sample.

#include <array>
#include <cstdint>
#include <string>

#include "layers/group_normalization.h"
#include "models/onnx/export_layers.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

using Norm = GroupNormalizationLayer;

std::string Vector(const LayerToExport& layer, GraphWriter& writer, Norm::Parameter parameter,
                   const Shape& shape) {
  return writer.AddTensor(StrCat(layer.node.name, parameter == Norm::kGamma ? "_gamma" : "_beta"),
                          layer.parameters[parameter], shape);
}

}  // namespace

// With the opset of our files: a LayerNormalization of each pixel, between two Transposes, as
// PyTorch writes it, or of the whole image; or an InstanceNormalization.
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
    return Unimplemented(
        "normalises ", groups, " groups of ", channels,
        " channels, which ONNX can since opset 21 only; files have opset 17, with one group or as "
        "many as channels");
  }
  return absl::OkStatus();
}

}  // namespace dtnn
