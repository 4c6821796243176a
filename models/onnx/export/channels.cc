// Channels in another order, and some of them.

#include <array>

#include "models/onnx/export/layers.h"
#include "tensor/format.h"
#include "tensor/text/str_cat.h"

namespace dtnn {

// As PyTorch writes it.
absl::Status ExportChannelShuffle(const LayerToExport& layer, GraphWriter& writer) {
  const std::string& name = layer.node.name;
  const ImageExtents image = InputOf(layer);
  const int64_t groups = layer.read.Int("groups");
  const std::string grouped = writer.NewName(StrCat(name, "_grouped")),
                    dealt = writer.NewName(StrCat(name, "_dealt"));
  writer.AddNode(
      "Reshape", StrCat(name, "/Groups"),
      {layer.inputs[0], writer.AddIntegers(StrCat(name, "_groups"),
                                           std::array{int64_t{-1}, groups, image.channels / groups,
                                                      image.height, image.width})},
      grouped);
  writer.AddNode("Transpose", StrCat(name, "/Transpose"), {grouped}, dealt)
      .Ints("perm", std::array<int64_t, 5>{0, 2, 1, 3, 4});
  writer.AddNode(
      "Reshape", name,
      {dealt, writer.AddIntegers(StrCat(name, "_shape"), std::array{int64_t{-1}, image.channels,
                                                                    image.height, image.width})},
      layer.output);
  return absl::OkStatus();
}

void WriteSlice(const LayerToExport& layer, GraphWriter& writer, const std::string& value,
                int64_t axis, int64_t begin, int64_t end) {
  const std::string& name = layer.node.name;
  const auto number = [&](const char* what, int64_t number) {
    return writer.AddIntegers(StrCat(name, "_", what), std::array{number});
  };
  writer.AddNode("Slice", name,
                 {value, number("begin", begin), number("end", end), number("axis", axis)},
                 layer.output);
}

absl::Status ExportChannelSlice(const LayerToExport& layer, GraphWriter& writer) {
  const int64_t begin = layer.read.Int("begin"), end = begin + layer.read.Int("count");
  WriteSlice(layer, writer, layer.inputs[0], /*axis=*/1, begin, end);
  return absl::OkStatus();
}

absl::Status ExportGroupSoftmax(const LayerToExport& layer, GraphWriter& writer) {
  const std::string& name = layer.node.name;
  const ImageExtents image = InputOf(layer);
  const int64_t groups = layer.read.Int("groups"), pixels = image.height * image.width;
  const std::string grouped = writer.NewName(StrCat(name, "_grouped")),
                    softmax = writer.NewName(StrCat(name, "_softmax"));
  writer.AddNode("Reshape", StrCat(name, "/Groups"),
                 {layer.inputs[0], writer.AddIntegers(StrCat(name, "_groups"),
                                                      std::array{int64_t{-1}, groups,
                                                                 image.channels / groups, pixels})},
                 grouped);
  writer.AddNode("Softmax", name, {grouped}, softmax).Int("axis", 2);
  writer.AddNode(
      "Reshape", StrCat(name, "/Image"),
      {softmax, writer.AddIntegers(StrCat(name, "_shape"), std::array{int64_t{-1}, image.channels,
                                                                      image.height, image.width})},
      layer.output);
  return absl::OkStatus();
}

}  // namespace dtnn
