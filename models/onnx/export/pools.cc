// Pooling, and images made larger.

#include <algorithm>
#include <array>

#include "kernels/pad/pad.h"
#include "layers/upsampling/upsample2d.h"
#include "models/onnx/export/layers.h"
#include "tensor/errors.h"
#include "tensor/format.h"

namespace dtnn {
namespace {

// The window of the whole image is an operator of its own, for images of any size.
absl::Status ExportPool(const LayerToExport& layer, GraphWriter& writer, bool average) {
  const std::string& name = layer.node.name;
  const Pair window = layer.read.TwoInts("window"), stride = layer.read.TwoInts("stride"),
             padding = layer.read.TwoInts("padding"), dilation = layer.read.TwoInts("dilation");
  if (window == Pair(0) && padding == Pair(0)) {
    writer.AddNode(average ? "GlobalAveragePool" : "GlobalMaxPool", name, layer.inputs,
                   layer.output);
    return absl::OkStatus();
  }
  if (average && dilation != Pair(1)) {
    return Unimplemented(
        "an average pooling with dilation, which ONNX has since opset 19 only; "
        "files have opset 17");
  }
  const ImageExtents image = InputOf(layer);
  NodeWriter node =
      writer.AddNode(average ? "AveragePool" : "MaxPool", name, layer.inputs, layer.output);
  node.TwoInts("kernel_shape", {window.vertical > 0 ? window.vertical : image.height,
                                window.horizontal > 0 ? window.horizontal : image.width})
      .TwoInts("strides", stride)
      .Pads(padding)
      .Int("ceil_mode", layer.read.Has("ceil") && layer.read.Switch("ceil") ? 1 : 0);
  if (average) {
    node.Int("count_include_pad",
             layer.read.Has("count_padding") && layer.read.Switch("count_padding") ? 1 : 0);
  } else {
    node.TwoInts("dilations", dilation);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ExportMaxPool2d(const LayerToExport& layer, GraphWriter& writer) {
  return ExportPool(layer, writer, /*average=*/false);
}

absl::Status ExportAveragePool2d(const LayerToExport& layer, GraphWriter& writer) {
  return ExportPool(layer, writer, /*average=*/true);
}

// ONNX has no such operator. Windows of one size, side by side, are an ordinary pooling.
absl::Status ExportAdaptiveAveragePool2d(const LayerToExport& layer, GraphWriter& writer) {
  const ImageExtents image = InputOf(layer);
  const Pair output = layer.read.TwoInts("output");
  if (output == Pair(1)) {
    writer.AddNode("GlobalAveragePool", layer.node.name, layer.inputs, layer.output);
    return absl::OkStatus();
  }
  if (image.height % output.vertical != 0 || image.width % output.horizontal != 0) {
    return Unimplemented("an adaptive pooling of ", image.height, " x ", image.width, " to ",
                         output.vertical, " x ", output.horizontal,
                         ", whose windows differ in size, which no operator of ONNX can say; "
                         "images whose size is a multiple of the output's can be exported");
  }
  const Pair window = {image.height / output.vertical, image.width / output.horizontal};
  writer.AddNode("AveragePool", layer.node.name, layer.inputs, layer.output)
      .TwoInts("kernel_shape", window)
      .TwoInts("strides", window);
  return absl::OkStatus();
}

absl::Status ExportUpsample2d(const LayerToExport& layer, GraphWriter& writer) {
  const std::string& name = layer.node.name;
  const Pair scale = layer.read.TwoInts("scale");
  const bool nearest = layer.read.Word("mode", ParseResizeMode) == ResizeMode::kNearest;
  const bool align_corners = layer.read.Switch("align_corners");
  DTNN_ASSIGN_OR_RETURN(const Tensor scales, Tensor::Zeros(DType::kFloat32, {4}));
  std::ranges::copy(std::array{1.F, 1.F, float(scale.vertical), float(scale.horizontal)},
                    scales.data<float>());
  NodeWriter node = writer.AddNode(
      "Resize", name,
      {layer.inputs[0], "", writer.AddTensor(StrCat(name, "_scales"), scales, scales.shape())},
      layer.output);
  node.Text("mode", nearest ? "nearest" : "linear")
      .Text("coordinate_transformation_mode", nearest         ? "asymmetric"
                                              : align_corners ? "align_corners"
                                                              : "half_pixel")
      .Text("nearest_mode", "floor");
  return absl::OkStatus();
}

absl::Status ExportPad2d(const LayerToExport& layer, GraphWriter& writer) {
  const std::string& name = layer.node.name;
  const Pair before = layer.read.TwoInts("before"), after = layer.read.TwoInts("after");
  const std::array<int64_t, 8> pads = {0, 0, before.vertical, before.horizontal,
                                       0, 0, after.vertical,  after.horizontal};
  // The words are those of ONNX.
  const std::string mode(Name(layer.read.Word("mode", ParsePadMode)));
  writer
      .AddNode("Pad", name,
               {layer.inputs[0], writer.AddIntegers(StrCat(name, "_pads"), pads),
                writer.AddScalar(StrCat(name, "_value"), float(layer.read.Real("value")))},
               layer.output)
      .Text("mode", mode);
  return absl::OkStatus();
}

// With steps, also of 1: import makes a slice of pixels of one row that has none.
absl::Status ExportSlice2d(const LayerToExport& layer, GraphWriter& writer) {
  const std::string& name = layer.node.name;
  const Pair begin = layer.read.TwoInts("begin"), step = layer.read.TwoInts("step");
  const ImageExtents output = ExtentsOf(layer.node.output, TensorFormat::kNCHW);
  const auto numbers = [&](const char* what, int64_t rows, int64_t columns) {
    return writer.AddIntegers(StrCat(name, "_", what), std::array{rows, columns});
  };
  writer.AddNode("Slice", name,
                 {layer.inputs[0], numbers("begin", begin.vertical, begin.horizontal),
                  numbers("end", begin.vertical + (output.height - 1) * step.vertical + 1,
                          begin.horizontal + (output.width - 1) * step.horizontal + 1),
                  numbers("axes", 2, 3), numbers("step", step.vertical, step.horizontal)},
                 layer.output);
  return absl::OkStatus();
}

}  // namespace dtnn
