#include <cstdint>
#include <functional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/onnx/testing/import_fixture.h"
#include "models/serving/saved_model.h"

namespace dtnn {
namespace {

using ::testing::HasSubstr;

constexpr int kFloat32 = 1, kUint8 = 2, kInt8 = 3, kInt32 = 6;  // types of ONNX

class ImportQuantizedTest : public ImportTest {
 protected:
  onnx::TensorProto& Bytes(const std::string& name, int type, const std::vector<int64_t>& dims,
                           const std::vector<int32_t>& values) {
    onnx::TensorProto& tensor = *onnx_.mutable_graph()->add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(type);
    for (const int64_t extent : dims) tensor.add_dims(extent);
    for (const int32_t value : values) tensor.add_int32_data(value);
    return tensor;
  }
  void Reals(const std::string& name, const std::vector<float>& values) {
    onnx::TensorProto& tensor = *onnx_.mutable_graph()->add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(kFloat32);
    tensor.add_dims(int64_t(values.size()));
    for (const float value : values) tensor.add_float_data(value);
  }
  // The product with a matrix of 4 x 2 bytes, from `type`.
  onnx::NodeProto& MultiplyBytes(int type, const std::vector<int32_t>& bytes,
                                 const std::vector<std::string>& scale_and_zero) {
    Bytes("q", type, {4, 2}, bytes);
    std::vector<std::string> inputs = {"q"};
    inputs.insert(inputs.end(), scale_and_zero.begin(), scale_and_zero.end());
    onnx::NodeProto& made = Insert("DequantizeLinear", inputs, 2);
    made.set_output(0, "dq");
    At(4).set_input(0, "f"), At(4).set_input(1, "dq");
    return made;
  }
  // A product with 4 x 2 bytes; `rounded` adds the nodes that round a value, and names the result.
  void MultiplyRounded(const std::function<std::string(const std::string&)>& rounded) {
    Reals("scale", {0.5F});
    Bytes("zero", kInt8, {1}, {0});
    Bytes("q", kInt8, {4, 2}, {-128, 127, 3, -4, 5, 6, 0, 1});
    onnx_.mutable_graph()->clear_node();
    Node("Conv", {rounded("x"), "w"}, "c");
    Node("GlobalAveragePool", {rounded("c")}, "p");
    Node("Flatten", {rounded("p")}, "f");
    Node("DequantizeLinear", {"q", "scale", "zero"}, "dq");
    Node("Gemm", {rounded("f"), "dq"}, "y");
  }
  std::vector<float> Weights() {
    const auto imported = Import();
    EXPECT_EQ(imported.status(), absl::OkStatus());
    if (!imported.ok()) return {};
    const auto value = imported->store->Value(4, 0);
    return {value.data<float>(), value.data<float>() + value.num_elements()};
  }
};

const std::vector<int32_t> kBytes = {-128, 127, 3, -4, 5, 6, 0, 1};

TEST_F(ImportQuantizedTest, BytesAreScaledAlongTheirAxis) {
  const onnx::ModelProto valid = onnx_;
  for (const int64_t axis : {0, 1, -1, -2}) {
    for (const bool zeros : {false, true}) {
      SCOPED_TRACE(axis);
      onnx_ = valid;
      const bool rows = axis == 0 || axis == -2;
      std::vector<float> scales = {0.5F, 0.25F};
      std::vector<int32_t> zero = {1, -2};
      if (rows) scales = {0.5F, 0.25F, 2, 1}, zero = {1, -2, 3, 0};
      Reals("scale", scales);
      Bytes("zero", kInt8, {int64_t(zero.size())}, zero);
      std::vector<std::string> inputs = {"scale"};
      if (zeros) inputs.push_back("zero");
      Int(MultiplyBytes(kInt8, kBytes, inputs), "axis", axis);
      std::vector<float> expected;
      for (size_t i = 0; i < kBytes.size(); ++i) {
        const size_t place = rows ? i / 2 : i % 2;
        expected.push_back(float(kBytes[i] - (zeros ? zero[place] : 0)) * scales[place]);
      }
      EXPECT_EQ(Weights(), expected);
    }
  }
}

TEST_F(ImportQuantizedTest, OneScaleIsOfAllBytes) {
  Reals("scale", {0.5F});
  Bytes("zero", kUint8, {}, {128});
  MultiplyBytes(kUint8, {0, 128, 255, 1, 2, 3, 4, 5}, {"scale", "zero"});
  EXPECT_EQ(Weights(), (std::vector<float>{-64, 0, 63.5F, -63.5F, -63, -62.5F, -62, -61.5F}));
}

TEST_F(ImportQuantizedTest, ScalesAndZeroPointsFitTheirBytes) {
  const onnx::ModelProto valid = onnx_;
  const auto error = [&](const std::vector<float>& scales, int zero_type,
                         const std::vector<int32_t>& zeros, const char* attribute = "axis",
                         int64_t value = 1) {
    onnx_ = valid;
    Reals("scale", scales);
    Bytes("zero", zero_type, {int64_t(zeros.size())}, zeros);
    Int(MultiplyBytes(kInt8, kBytes, {"scale", "zero"}), attribute, value);
    return Error();
  };
  EXPECT_EQ(error({1, 2}, kInt8, {0, 0}), "");
  EXPECT_THAT(error({1, 2}, kInt8, {0}), HasSubstr("has 2 scales and 1 zero points"));
  EXPECT_THAT(error({1}, kInt8, {0, 0}), HasSubstr("has 1 scales and 2 zero points"));
  EXPECT_THAT(error({1, 0}, kInt8, {0, 0}), HasSubstr("a scale that is not positive and finite"));
  EXPECT_THAT(error({-1, 1}, kInt8, {0, 0}), HasSubstr("a scale that is not positive and finite"));
  EXPECT_THAT(error({}, kInt8, {}), HasSubstr("its scale is not a number"));
  EXPECT_THAT(error({1, 2, 3}, kInt8, {0, 0, 0}),
              HasSubstr("has 3 scales for 2 places along axis 1"));
  EXPECT_THAT(error({1, 2}, kInt8, {0, 0}, "axis", 0),
              HasSubstr("has 2 scales for 4 places along axis 0"));
  EXPECT_THAT(error({1, 2}, kInt8, {0, 0}, "axis", 2), HasSubstr("names axis 2 of 2 axes"));
  EXPECT_THAT(error({1, 2}, kUint8, {0, 0}), HasSubstr("not both int8, uint8 or int32"));
  EXPECT_THAT(error({1, 2}, kInt8, {0, 0}, "block_size", 2),
              HasSubstr("has scales for blocks of weights"));
  onnx_ = valid;
  Bytes("scale", kInt32, {1}, {1});
  MultiplyBytes(kInt8, kBytes, {"scale"});
  EXPECT_THAT(Error(), HasSubstr("its scale is not a number"));
  onnx_ = valid;
  Reals("scale", {1});
  MultiplyBytes(kInt8, kBytes, {"scale"}).set_op_type("QuantizeLinear");
  EXPECT_THAT(Error(), HasSubstr("rounds a constant when the network runs"));
}

// What follows the convolution where its values become bytes from `low` to `low` + 255.
TEST_F(ImportQuantizedTest, BytesFromZeroOnAreARelu) {
  const onnx::ModelProto valid = onnx_;
  const auto layer = [&](float scale, int type, const std::vector<int32_t>& zero) {
    onnx_ = valid;
    Reals("scale", {scale});
    std::vector<std::string> inputs = {"c", "scale"};
    if (!zero.empty()) Bytes("zero", type, {1}, zero), inputs.push_back("zero");
    Insert("QuantizeLinear", inputs);
    const auto imported = Import();
    if (!imported.ok()) return std::string(imported.status().message());
    return std::string(imported->model.graph.nodes()[2].layer->type_name());
  };
  EXPECT_EQ(layer(0.1F, kUint8, {0}), "Relu");
  EXPECT_EQ(layer(0.1F, kUint8, {}), "Relu");  // uint8 where nothing says otherwise
  EXPECT_EQ(layer(0.1F, kUint8, {1}), "AveragePool2D");
  EXPECT_EQ(layer(0.1F, kInt8, {-128}), "Relu");
  EXPECT_EQ(layer(0.1F, kInt8, {-127}), "AveragePool2D");
  EXPECT_EQ(layer(0.1F, kInt8, {0}), "AveragePool2D");
  EXPECT_EQ(layer(6.0F / 255, kUint8, {0}), "Relu6");
  EXPECT_EQ(layer(6.02F / 255, kInt8, {-128}), "Relu6");
  EXPECT_EQ(layer(5.98F / 255, kUint8, {0}), "Relu6");
  EXPECT_EQ(layer(6.04F / 255, kUint8, {0}), "Relu");
  EXPECT_EQ(layer(5.96F / 255, kUint8, {0}), "Relu");
  EXPECT_THAT(layer(0.1F, kInt32, {0}), HasSubstr("to other than 8 bits with one scale"));
}

// After every layer but those that make nothing below 0, and what keeps the sign of these.
TEST_F(ImportQuantizedTest, BytesFromZeroOnAreAReluAfterWhatMayBeNegative) {
  const onnx::ModelProto valid = onnx_;
  using Nodes = std::vector<std::pair<std::string, std::vector<std::string>>>;
  const auto relus = [&](const Nodes& nodes) {
    onnx_ = valid;
    Tensor("turned", {4, 4, 1, 1}), Tensor("each", {4}), Tensor("slope", {1});
    Tensor("minus", {}), Tensor("half", {}).set_float_data(0, 0.5F);  // -2 and 0.5
    Integers("around", {0, 0, 1, 1, 0, 0, 1, 1});
    Reals("scale", {0.1F});
    Bytes("zero", kInt8, {1}, {-128});
    std::string last = "c";
    for (const auto& [type, more] : nodes) {
      std::vector<std::string> inputs = {last};
      inputs.insert(inputs.end(), more.begin(), more.end());
      onnx::NodeProto& node = Node(type, inputs, last + "_");
      if (type == "Concat") Int(node, "axis", 1);
      if (type == "MaxPool") Ints(node, "kernel_shape", {2, 2});
      last += "_";
    }
    Node("QuantizeLinear", {last, "scale", "zero"}, "q");
    Node("DequantizeLinear", {"q", "scale", "zero"}, "d");
    onnx_.mutable_graph()->mutable_node()->DeleteSubrange(1, 3);
    Node("GlobalAveragePool", {"d"}, "p");
    onnx_.mutable_graph()->mutable_output(0)->set_name("p");
    const auto imported = Import();
    EXPECT_EQ(imported.status(), absl::OkStatus());
    int count = 0;
    if (!imported.ok()) return -1;
    for (const auto& node : imported->model.graph.nodes()) {
      count += node.layer->type_name() == "Relu" ? 1 : 0;
    }
    return count;
  };
  EXPECT_EQ(relus({{"ConvTranspose", {"turned"}}}), 1);
  EXPECT_EQ(relus({{"MaxPool", {}}}), 1);
  EXPECT_EQ(relus({{"InstanceNormalization", {"each", "each"}}}), 1);
  EXPECT_EQ(relus({{"Concat", {"c"}}}), 1);
  EXPECT_EQ(relus({{"PRelu", {"slope"}}}), 1);
  EXPECT_EQ(relus({{"Tanh", {}}}), 1);
  EXPECT_EQ(relus({{"Clip", {"minus", "half"}}}), 1);
  EXPECT_EQ(relus({{"Sigmoid", {}}, {"Mul", {"minus"}}}), 1);
  EXPECT_EQ(relus({{"Sigmoid", {}}, {"Mul", {"c"}}}), 1) << "which is SiLU";
  EXPECT_EQ(relus({{"Sigmoid", {}}}), 0);
  EXPECT_EQ(relus({{"Sigmoid", {}}, {"Mul", {"half"}}}), 0);
  EXPECT_EQ(relus({{"Sigmoid", {}}, {"Pad", {"around", "minus"}}}), 1);
  EXPECT_EQ(relus({{"Sigmoid", {}}, {"Pad", {"around", "half"}}}), 0);
  EXPECT_EQ(relus({{"Clip", {"half"}}}), 0);
  EXPECT_EQ(relus({{"Softplus", {}}, {"MaxPool", {}}}), 0);
  EXPECT_EQ(relus({{"Sigmoid", {}}, {"Concat", {"c_"}}, {"MaxPool", {}}}), 0);
  EXPECT_EQ(relus({{"Sigmoid", {}}, {"Concat", {"c"}}}), 1);
  EXPECT_EQ(relus({{"Relu", {}}, {"Add", {"c_"}}}), 1);  // the Relu of the file
}

// Other programs that quantize a file of ours keep its metadata, and leave relus out.
TEST_F(ImportQuantizedTest, BytesThatAnotherProgramAddsToOurFileAreARelu) {
  const onnx::ModelProto valid = onnx_;
  const NamedTexts tags = ModelTags(Import()->model);
  const auto layer = [&](const char* ending, bool of_our_own) {
    onnx_ = valid;
    for (const auto& [key, text] : tags) {
      if (!of_our_own || key != kDescriptionTag) continue;
      onnx::StringStringEntryProto& entry = *onnx_.add_metadata_props();
      entry.set_key(key);
      entry.set_value(text);
    }
    Reals("scale", {0.1F});
    Insert("QuantizeLinear", {"c", "scale"}).set_name(std::string("c") + ending);
    const auto imported = Import();
    if (!imported.ok()) return std::string(imported.status().message());
    return std::string(imported->model.graph.nodes()[2].layer->type_name());
  };
  EXPECT_EQ(layer("_QuantizeLinear", true), "Relu");
  EXPECT_EQ(layer("/Quantize", true), "AveragePool2D");
  EXPECT_EQ(layer("/Quantize", false), "Relu");
}

TEST_F(ImportQuantizedTest, AValueHasOneScale) {
  Reals("scale", {1, 1, 1, 1});
  Insert("QuantizeLinear", {"c", "scale"});
  EXPECT_THAT(Error(), HasSubstr("to other than 8 bits with one scale"));
}

// The range of a value is that of its bytes, and a layer whose weights are float32 stays float32.
TEST_F(ImportQuantizedTest, RangesAreThoseOfTheBytes) {
  const onnx::ModelProto valid = onnx_;
  for (const auto& [type, zero, low, high] :
       {std::tuple(kUint8, 10, -5.0, 122.5), std::tuple(kInt8, 10, -69.0, 58.5),
        std::tuple(kInt8, -128, 0.0, 127.5)}) {
    onnx_ = valid;
    Bytes("zero_of_value", type, {1}, {zero});
    MultiplyRounded([&](const std::string& value) {
      Node("QuantizeLinear", {value, "scale", "zero_of_value"}, value + "q");
      return value + "q";
    });
    const auto imported = Import();
    ASSERT_EQ(imported.status(), absl::OkStatus());
    ASSERT_TRUE(imported->model.quantization.has_value())
        << ::testing::PrintToString(imported->notes);
    const auto& record = *imported->model.quantization;
    EXPECT_EQ(record.method, kRangesOfOnnx);
    for (const auto& [node, range] : record.ranges) {
      EXPECT_EQ(range.low, low);
      EXPECT_EQ(range.high, high);
    }
    EXPECT_EQ(record.ranges.size(), 4U);
    ASSERT_EQ(record.in_float.size(), 1U);
    EXPECT_EQ(record.in_float.begin()->second, "the ONNX file has its weights in float32");
  }
}

// The type of the bytes is that of the zero point, or what the attribute says, or uint8.
TEST_F(ImportQuantizedTest, ZeroPointsMayBeLeftOut) {
  const onnx::ModelProto valid = onnx_;
  const auto import = [&](const std::vector<std::string>& zero, int64_t type) {
    onnx_ = valid;
    onnx_.mutable_opset_import(0)->set_version(21);
    MultiplyRounded([&](const std::string& value) {
      std::vector<std::string> inputs = {value, "scale"};
      inputs.insert(inputs.end(), zero.begin(), zero.end());
      onnx::NodeProto& node = Node("QuantizeLinear", inputs, value + "q");
      if (type >= 0) Int(node, "output_dtype", type);
      Node("DequantizeLinear", {value + "q", "scale"}, value + "d");
      return value + "d";
    });
    return Import();
  };
  for (const auto& [zero, type, low, relus] :
       {std::tuple(std::vector<std::string>{"zero"}, -1, -64.0, 0),
        std::tuple(std::vector<std::string>{"zero"}, kInt8, -64.0, 0),
        std::tuple(std::vector<std::string>(), kInt8, -64.0, 0),
        std::tuple(std::vector<std::string>(), kUint8, 0.0, 1),
        std::tuple(std::vector<std::string>(), 0, 0.0, 1),
        std::tuple(std::vector<std::string>(), -1, 0.0, 1)}) {
    SCOPED_TRACE(type);
    const auto imported = import(zero, type);
    ASSERT_EQ(imported.status(), absl::OkStatus());
    EXPECT_EQ(imported->model.graph.nodes().size(), size_t(5 + relus));
    ASSERT_TRUE(imported->model.quantization.has_value());
    EXPECT_EQ(imported->model.quantization->ranges.size(), 4U);
    for (const auto& [node, range] : imported->model.quantization->ranges) {
      EXPECT_EQ(range.low, low);
      EXPECT_EQ(range.high, low + 127.5);
    }
  }
  EXPECT_THAT(std::string(import({}, kInt32).status().message()),
              HasSubstr("to other than 8 bits with one scale"));
}

}  // namespace
}  // namespace dtnn
