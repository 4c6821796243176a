// The products of attention, as PyTorch writes them: of images as (N, heads, channels of a head,
// pixels). The node that makes a layer when it is read has the layer's name.

#include <array>
#include <cstdint>
#include <string>

#include "models/onnx/export/layers.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

// Input `input` of the layer, an image, under those axes.
std::string Divided(const LayerToExport& layer, GraphWriter& writer, size_t input, int64_t heads) {
  const ImageExtents image = ExtentsOf(layer.node.input_shapes[input], TensorFormat::kNCHW);
  const std::string name = StrCat(layer.node.name, "_heads", input), value = writer.NewName(name);
  writer.AddNode("Reshape", StrCat(layer.node.name, "/Heads", input),
                 {layer.inputs[input],
                  writer.AddIntegers(StrCat(name, "_shape"),
                                     std::array{int64_t{-1}, heads, image.channels / heads,
                                                image.height * image.width})},
                 value);
  return value;
}

// The last two axes the other way round.
std::string Turned(const LayerToExport& layer, GraphWriter& writer, const std::string& value) {
  const std::string turned = writer.NewName(StrCat(value, "_turned"));
  writer.AddNode("Transpose", StrCat(layer.node.name, "/", turned), {value}, turned)
      .Ints("perm", std::array<int64_t, 4>{0, 1, 3, 2});
  return turned;
}

// The layer's output, an image again.
void Join(const LayerToExport& layer, GraphWriter& writer, const std::string& value) {
  const std::string& name = layer.node.name;
  const ImageExtents image = ExtentsOf(layer.node.output, TensorFormat::kNCHW);
  writer.AddNode(
      "Reshape", StrCat(name, "/Image"),
      {value, writer.AddIntegers(StrCat(name, "_shape"), std::array{int64_t{-1}, image.channels,
                                                                    image.height, image.width})},
      layer.output);
}

}  // namespace

absl::Status ExportScores(const LayerToExport& layer, GraphWriter& writer) {
  const std::string& name = layer.node.name;
  const int64_t heads = layer.read.Int("heads");
  const auto factor = float(layer.read.Real("factor"));
  const std::string queries = Turned(layer, writer, Divided(layer, writer, 0, heads)),
                    keys = Divided(layer, writer, 1, heads),
                    product = writer.NewName(StrCat(name, "_product")),
                    scaled = writer.NewName(StrCat(name, "_scaled"));
  writer.AddNode("MatMul", name, {queries, keys}, product);
  writer.AddNode("Mul", StrCat(name, "/Mul"),
                 {product, writer.AddScalar(StrCat(name, "_factor"), factor)}, scaled);
  Join(layer, writer, Turned(layer, writer, scaled));
  return absl::OkStatus();
}

absl::Status ExportWeightedSum(const LayerToExport& layer, GraphWriter& writer) {
  const std::string& name = layer.node.name;
  const int64_t heads = layer.read.Int("heads");
  const std::string weights = Divided(layer, writer, 0, heads),
                    values = Divided(layer, writer, 1, heads),
                    product = writer.NewName(StrCat(name, "_product"));
  writer.AddNode("MatMul", name, {values, weights}, product);
  Join(layer, writer, product);
  return absl::OkStatus();
}

}  // namespace dtnn
