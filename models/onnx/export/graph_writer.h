// What the layers of a network write themselves into: the nodes and the tensors of an ONNX graph.

#ifndef DTNN_MODELS_ONNX_EXPORT_GRAPH_WRITER_H_
#define DTNN_MODELS_ONNX_EXPORT_GRAPH_WRITER_H_

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/int8/quantization.h"
#include "kernels/operands/pair.h"
#include "models/onnx/file/onnx.pb.h"
#include "models/onnx/file/onnx_types.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

namespace dtnn {

// A node that is being written: attributes, one after the other.
class NodeWriter {
 public:
  explicit NodeWriter(onnx::NodeProto& node) : node_(&node) {}
  NodeWriter& Int(std::string_view name, int64_t value);
  NodeWriter& Float(std::string_view name, double value);
  NodeWriter& Text(std::string_view name, std::string_view value);
  NodeWriter& Ints(std::string_view name, std::span<const int64_t> values);
  NodeWriter& TwoInts(std::string_view name, const Pair& pair) {
    return Ints(name, std::array{pair.vertical, pair.horizontal});
  }
  // The same before and after: padding.
  NodeWriter& Pads(const Pair& padding) {
    return Ints("pads", std::array{padding.vertical, padding.horizontal, padding.vertical,
                                   padding.horizontal});
  }

 private:
  onnx::AttributeProto& Add(std::string_view name, OnnxAttribute type);
  onnx::NodeProto* node_;
};

class GraphWriter {
 public:
  explicit GraphWriter(onnx::GraphProto& graph) : graph_(&graph) {}

  // `wanted`, or that with underscores where another value or tensor has the name.
  std::string NewName(std::string_view wanted);

  NodeWriter AddNode(std::string_view op_type, std::string_view name,
                     std::span<const std::string> inputs, std::string_view output);
  NodeWriter AddNode(std::string_view op_type, std::string_view name,
                     std::initializer_list<std::string> inputs, std::string_view output) {
    return AddNode(op_type, name, std::span(inputs.begin(), inputs.size()), output);
  }

  // Tensors that stand in the file; result: their names. Of float32 values, under another shape.
  std::string AddTensor(std::string_view name, const Tensor& values, const Shape& shape);
  std::string AddIntegers(std::string_view name, std::span<const int64_t> values);
  std::string AddScalar(std::string_view name, float value);
  // The values of a layer's weights; in 8 bits, a scale for each place along `axis`, where the
  // layer multiplies bytes.
  std::string AddWeights(std::string_view name, const Tensor& values, const Shape& shape, int axis,
                         bool in_bytes);
  // What stands for `value` after it was rounded to 8 bits.
  std::string AddQuantization(std::string_view value, const Quantization& quantization);

 private:
  onnx::TensorProto& Add(std::string_view name, OnnxType type, const Shape& shape);

  onnx::GraphProto* graph_;
  std::set<std::string, std::less<>> names_;
};

}  // namespace dtnn

#endif  // DTNN_MODELS_ONNX_EXPORT_GRAPH_WRITER_H_
