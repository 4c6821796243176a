#include "models/onnx/export/graph_writer.h"

#include <algorithm>
#include <cmath>

#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

// int8 with a scale for each of `size` places along an axis; `inner` elements stand behind each.
void QuantizeWeights(std::span<const float> values, size_t size, size_t inner,
                     std::vector<float>& scales, std::string& bytes) {
  scales.assign(size, 0);
  const auto place = [&](size_t i) { return i / inner % size; };
  for (size_t i = 0; i < values.size(); ++i) {
    scales[place(i)] = std::max(scales[place(i)], std::abs(values[i]));
  }
  for (float& scale : scales) scale = scale > 0 ? scale / 127 : 1;
  bytes.resize(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    const float rounded = std::nearbyint(values[i] / scales[place(i)]);
    bytes[i] = char(int8_t(std::clamp(rounded, -127.0F, 127.0F)));
  }
}

}  // namespace

onnx::AttributeProto& NodeWriter::Add(std::string_view name, OnnxAttribute type) {
  onnx::AttributeProto& attribute = *node_->add_attribute();
  attribute.set_name(std::string(name));
  attribute.set_type(int32_t(type));
  return attribute;
}
NodeWriter& NodeWriter::Int(std::string_view name, int64_t value) {
  Add(name, OnnxAttribute::kInt).set_i(value);
  return *this;
}
NodeWriter& NodeWriter::Float(std::string_view name, double value) {
  Add(name, OnnxAttribute::kFloat).set_f(float(value));
  return *this;
}
NodeWriter& NodeWriter::Text(std::string_view name, std::string_view value) {
  Add(name, OnnxAttribute::kText).set_s(std::string(value));
  return *this;
}
NodeWriter& NodeWriter::Ints(std::string_view name, std::span<const int64_t> values) {
  onnx::AttributeProto& attribute = Add(name, OnnxAttribute::kInts);
  for (const int64_t value : values) attribute.add_ints(value);
  return *this;
}

std::string GraphWriter::NewName(std::string_view wanted) {
  std::string name(wanted);
  while (!names_.insert(name).second) name += "_";
  return name;
}

NodeWriter GraphWriter::AddNode(std::string_view op_type, std::string_view name,
                                std::span<const std::string> inputs, std::string_view output) {
  onnx::NodeProto& node = *graph_->add_node();
  node.set_op_type(std::string(op_type));
  node.set_name(std::string(name));
  for (const std::string& input : inputs) node.add_input(input);
  node.add_output(std::string(output));
  return NodeWriter(node);
}

onnx::TensorProto& GraphWriter::Add(std::string_view name, OnnxType type, const Shape& shape) {
  onnx::TensorProto& tensor = *graph_->add_initializer();
  tensor.set_name(NewName(name));
  tensor.set_data_type(int32_t(type));
  for (const int64_t extent : shape.extents()) tensor.add_dims(extent);
  return tensor;
}

std::string GraphWriter::AddTensor(std::string_view name, const Tensor& values,
                                   const Shape& shape) {
  onnx::TensorProto& tensor = Add(name, OnnxType::kFloat32, shape);
  tensor.set_raw_data(values.raw_data(), size_t(values.num_elements()) * sizeof(float));
  return tensor.name();
}

std::string GraphWriter::AddIntegers(std::string_view name, std::span<const int64_t> values) {
  onnx::TensorProto& tensor = Add(name, OnnxType::kInt64, Shape{int64_t(values.size())});
  tensor.set_raw_data(values.data(), values.size_bytes());
  return tensor.name();
}

std::string GraphWriter::AddScalar(std::string_view name, float value) {
  onnx::TensorProto& tensor = Add(name, OnnxType::kFloat32, Shape{});
  tensor.set_raw_data(&value, sizeof(value));
  return tensor.name();
}

std::string GraphWriter::AddWeights(std::string_view name, const Tensor& values, const Shape& shape,
                                    int axis, bool in_bytes) {
  if (!in_bytes) return AddTensor(name, values, shape);
  size_t inner = 1;
  for (int i = axis + 1; i < shape.rank(); ++i) inner *= size_t(shape[i]);
  std::vector<float> scales;
  std::string bytes;
  QuantizeWeights({values.data<float>(), size_t(values.num_elements())}, size_t(shape[axis]), inner,
                  scales, bytes);
  onnx::TensorProto& quantized = Add(StrCat(name, "_int8"), OnnxType::kInt8, shape);
  *quantized.mutable_raw_data() = std::move(bytes);
  const std::string weights = quantized.name();
  onnx::TensorProto& scale =
      Add(StrCat(name, "_scale"), OnnxType::kFloat32, Shape{int64_t(scales.size())});
  scale.set_raw_data(scales.data(), scales.size() * sizeof(float));
  const std::string scale_name = scale.name();
  onnx::TensorProto& zero =
      Add(StrCat(name, "_zero"), OnnxType::kInt8, Shape{int64_t(scales.size())});
  zero.set_raw_data(std::string(scales.size(), '\0'));
  const std::string output = NewName(name);
  AddNode("DequantizeLinear", StrCat(name, kDequantizeNode), {weights, scale_name, zero.name()},
          output)
      .Int("axis", axis);
  return output;
}

std::string GraphWriter::AddQuantization(std::string_view value, const Quantization& quantization) {
  const std::string scale = AddScalar(StrCat(value, "_scale"), quantization.scale);
  onnx::TensorProto& tensor = Add(StrCat(value, "_zero"), OnnxType::kUint8, Shape{});
  tensor.set_raw_data(std::string(1, char(uint8_t(quantization.zero_point))));
  const std::string zero = tensor.name();
  const std::string bytes = NewName(StrCat(value, "_bytes"));
  const std::string output = NewName(StrCat(value, "_rounded"));
  AddNode("QuantizeLinear", StrCat(value, kQuantizeNode), {std::string(value), scale, zero}, bytes);
  AddNode("DequantizeLinear", StrCat(value, kDequantizeNode), {bytes, scale, zero}, output);
  return output;
}

}  // namespace dtnn
