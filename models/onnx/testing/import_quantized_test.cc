#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/onnx/testing/import_fixture.h"

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
    Reals("scale", {0.5F});
    Bytes("zero", kInt8, {1}, {0});
    Bytes("zero_of_value", type, {1}, {zero});
    Bytes("q", kInt8, {4, 2}, kBytes);
    onnx_.mutable_graph()->clear_node();
    const auto rounded = [&](const std::string& value) {
      Node("QuantizeLinear", {value, "scale", "zero_of_value"}, value + "q");
      return value + "q";
    };
    Node("Conv", {rounded("x"), "w"}, "c");
    Node("GlobalAveragePool", {rounded("c")}, "p");
    Node("Flatten", {rounded("p")}, "f");
    Node("DequantizeLinear", {"q", "scale", "zero"}, "dq");
    Node("Gemm", {rounded("f"), "dq"}, "y");
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

}  // namespace
}  // namespace dtnn
