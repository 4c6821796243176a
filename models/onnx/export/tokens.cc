// Pixels as the tokens of vision transformers. The node that makes a layer when it is read has the
// layer's name.

#include <array>
#include <cstdint>
#include <string>

#include "models/onnx/export/layers.h"
#include "tensor/errors.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

// The layer's input with its pixels in one row.
std::string InOneRow(const LayerToExport& layer, GraphWriter& writer) {
  const ImageExtents image = InputOf(layer);
  if (image.height == 1) return layer.inputs[0];
  const std::string name = StrCat(layer.node.name, "_row"), row = writer.NewName(name);
  writer.AddNode(
      "Reshape", StrCat(layer.node.name, "/Row"),
      {layer.inputs[0], writer.AddIntegers(StrCat(name, "_shape"),
                                           std::array{int64_t{-1}, image.channels, int64_t{1},
                                                      image.height * image.width})},
      row);
  return row;
}

}  // namespace

namespace {

// The tokens as channels of pixels.
absl::StatusOr<Tensor> ChannelsFirst(const Tensor& tokens, int64_t count, int64_t channels) {
  DTNN_ASSIGN_OR_RETURN(Tensor turned,
                        Tensor::Allocate(Device::Cpu(), DType::kFloat32, Shape{channels * count}));
  for (int64_t i = 0; i < channels * count; ++i) {
    turned.data<float>()[i] = tokens.data<float>()[i % count * channels + i / count];
  }
  return turned;
}

}  // namespace

// As PyTorch writes it: a copy of the tokens for each sample, before the pixels.
absl::Status ExportClassToken(const LayerToExport& layer, GraphWriter& writer) {
  const std::string &name = layer.node.name, row = InOneRow(layer, writer);
  const int64_t channels = InputOf(layer).channels, count = layer.read.Int("count");
  const std::string batch = writer.NewName(StrCat(name, "_batch")),
                    shape = writer.NewName(StrCat(name, "_shape")),
                    tokens = writer.NewName(StrCat(name, "_tokens"));
  writer.AddNode("Shape", StrCat(name, "/Shape"), {row}, batch).Int("start", 0).Int("end", 1);
  writer
      .AddNode("Concat", StrCat(name, "/Samples"),
               {batch, writer.AddIntegers(StrCat(name, "_sample"),
                                          std::array{channels, int64_t{1}, count})},
               shape)
      .Int("axis", 0);
  DTNN_ASSIGN_OR_RETURN(const Tensor token, ChannelsFirst(layer.parameters[0], count, channels));
  writer.AddNode(
      "Expand", StrCat(name, "/Expand"),
      {writer.AddTensor(StrCat(name, "_token"), token, Shape{1, channels, 1, count}), shape},
      tokens);
  writer.AddNode("Concat", name, {tokens, row}, layer.output).Int("axis", 3);
  return absl::OkStatus();
}

absl::Status ExportPositionEmbedding(const LayerToExport& layer, GraphWriter& writer) {
  const std::string& name = layer.node.name;
  writer.AddNode("Add", name,
                 {layer.inputs[0], writer.AddTensor(StrCat(name, "_embedding"), layer.parameters[0],
                                                    layer.node.input_shapes[0])},
                 layer.output);
  return absl::OkStatus();
}

absl::Status ExportPixelSlice(const LayerToExport& layer, GraphWriter& writer) {
  const int64_t begin = layer.read.Int("begin"), end = begin + layer.read.Int("count");
  WriteSlice(layer, writer, InOneRow(layer, writer), /*axis=*/3, begin, end);
  return absl::OkStatus();
}

}  // namespace dtnn
