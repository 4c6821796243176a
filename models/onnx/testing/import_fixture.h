// An ONNX message that tests of imports change.

#ifndef DTNN_MODELS_ONNX_TESTING_IMPORT_FIXTURE_H_
#define DTNN_MODELS_ONNX_TESTING_IMPORT_FIXTURE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "gtest/gtest.h"
#include "kernels/device/context.h"
#include "models/onnx/file/onnx.pb.h"
#include "models/onnx/import/import.h"

namespace dtnn {

// A convolution, a pooling and a product, as a message that tests change.
class ImportTest : public ::testing::Test {
 protected:
  ImportTest() {
    onnx_.add_opset_import()->set_version(17);
    onnx::GraphProto& graph = *onnx_.mutable_graph();
    Value(*graph.add_input(), "x", {-1, 3, 5, 6});
    graph.add_output()->set_name("y");
    Tensor("w", {4, 3, 2, 2});
    Tensor("m", {4, 2});
    Node("Conv", {"x", "w"}, "c");
    Node("GlobalAveragePool", {"c"}, "p");
    Node("Flatten", {"p"}, "f");
    Node("Gemm", {"f", "m"}, "y");
  }

  static void Value(onnx::ValueInfoProto& value, const std::string& name,
                    const std::vector<int64_t>& extents) {
    value.set_name(name);
    auto& type = *value.mutable_type()->mutable_tensor_type();
    type.set_elem_type(1);
    type.clear_shape();
    for (const int64_t extent : extents) {
      auto& dim = *type.mutable_shape()->add_dim();
      extent < 0 ? dim.set_dim_param("n") : dim.set_dim_value(extent);
    }
  }
  onnx::TensorProto& Tensor(const std::string& name, const std::vector<int64_t>& dims) {
    onnx::TensorProto& tensor = *onnx_.mutable_graph()->add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(1);
    int64_t count = 1;
    for (const int64_t extent : dims) {
      tensor.add_dims(extent);
      count *= extent;
    }
    for (int64_t i = 0; i < count; ++i) tensor.add_float_data(float(i % 5) - 2);
    return tensor;
  }
  void Integers(const std::string& name, const std::vector<int64_t>& values) {
    onnx::TensorProto& tensor = *onnx_.mutable_graph()->add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(7);
    tensor.add_dims(int64_t(values.size()));
    for (const int64_t value : values) tensor.add_int64_data(value);
  }
  onnx::NodeProto& Node(const std::string& type, const std::vector<std::string>& inputs,
                        const std::string& output) {
    onnx::NodeProto& node = *onnx_.mutable_graph()->add_node();
    node.set_op_type(type);
    node.set_name("the_" + output);
    for (const std::string& input : inputs) node.add_input(input);
    node.add_output(output);
    return node;
  }
  static void Int(onnx::NodeProto& node, const std::string& name, int64_t value) {
    onnx::AttributeProto& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(2);
    attribute.set_i(value);
  }
  static void Ints(onnx::NodeProto& node, const std::string& name,
                   const std::vector<int64_t>& values) {
    onnx::AttributeProto& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(7);
    for (const int64_t value : values) attribute.add_ints(value);
  }
  static void Text(onnx::NodeProto& node, const std::string& name, const std::string& value) {
    onnx::AttributeProto& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(3);
    attribute.set_s(value);
  }
  onnx::NodeProto& At(int node) { return *onnx_.mutable_graph()->mutable_node(node); }
  // Another node between the convolution and the pooling, or after another node.
  onnx::NodeProto& Insert(const std::string& type, std::vector<std::string> inputs, int after = 0) {
    onnx::GraphProto& graph = *onnx_.mutable_graph();
    Node(type, inputs, "new");
    for (int i = graph.node_size() - 1; i > after + 1; --i) {
      graph.mutable_node()->SwapElements(i, i - 1);
    }
    const std::string replaced = At(after).output(0);
    for (int i = after + 2; i < graph.node_size(); ++i) {
      for (std::string& input : *At(i).mutable_input()) {
        if (input == replaced) input = "new";
      }
    }
    return At(after + 1);
  }

  absl::StatusOr<ImportedModel> Import(const ImportOptions& options = {}) {
    return ImportModel(onnx_, "net.onnx", *host_, options);
  }
  std::string Error(const ImportOptions& options = {}) {
    return std::string(Import(options).status().message());
  }

  onnx::ModelProto onnx_;
  std::unique_ptr<DeviceContext> host_ = *DeviceContext::Create(Device::Cpu());
};

}  // namespace dtnn

#endif  // DTNN_MODELS_ONNX_TESTING_IMPORT_FIXTURE_H_
