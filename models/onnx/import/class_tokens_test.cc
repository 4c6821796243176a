#include <cstdint>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/onnx/testing/attention_fixture.h"

namespace dtnn {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// As torchvision's VisionTransformer: pixels as rows, a class token before them, an embedding of
// their positions, and the token's features at the end.
class ImportTokensTest : public ImportAttentionTest {
 protected:
  ImportTokensTest() {
    Node("Reshape", {"c", "tokens"}, "t");
    Turn("t", "pixels", {0, 2, 1});  // (N, 20, 4)
    Tensor("token", {1, 1, 4});
    Integers("zero", {0}), Integers("one", {1}), Integers("sample", {1, 4});
  }
  // (N, 1, 4), as `dynamo=True` writes it.
  void Repeat() {
    onnx::NodeProto& shape = Node("Shape", {"pixels"}, "n");
    Int(shape, "start", 0), Int(shape, "end", 1);
    Int(Node("Concat", {"n", "sample"}, "wanted"), "axis", 0);
    Node("Expand", {"token", "wanted"}, "repeated");
  }
  onnx::NodeProto& Join() {
    onnx::NodeProto& join = Node("Concat", {"repeated", "pixels"}, "joined");
    Int(join, "axis", 1);
    return join;
  }
  // The features of a pixel, to the classes.
  void EndAt(const std::string& from, int64_t pixel) {
    onnx::TensorProto& place = *onnx_.mutable_graph()->add_initializer();
    place.set_name("place"), place.set_data_type(7), place.add_int64_data(pixel);
    Int(Node("Gather", {from, "place"}, "f"), "axis", 1);
    Node("Gemm", {"f", "m"}, "y");
  }
  std::vector<float> ParameterOf(const std::string& type) {
    const auto imported = *Import();
    for (size_t i = 0; i < imported.model.graph.nodes().size(); ++i) {
      if (imported.model.graph.nodes()[i].layer->type_name() != type) continue;
      const auto value = imported.store->Value(int(i), 0);
      return {value.data<float>(), value.data<float>() + value.num_elements()};
    }
    return {};
  }
};

TEST_F(ImportTokensTest, AClassTokenAndAnEmbeddingAreLayers) {
  Repeat(), Join();
  Tensor("embedding", {1, 21, 4});
  Node("Add", {"joined", "embedding"}, "e");
  EndAt("e", 0);
  EXPECT_THAT(AllLayers(), ElementsAre("ClassToken ", "PositionEmbedding ", "PixelSlice pixel 0",
                                       "Flatten ", "FC "));
  EXPECT_THAT(ParameterOf("ClassToken"), ElementsAre(-2, -1, 0, 1));
  // Element i of the file is i mod 5 - 2, pixel by pixel; the model has channels first, or last.
  const auto imported = *Import({.format = TensorFormat::kNCHW});
  const auto value = imported.store->Value(3, 0);
  for (int64_t channel = 0; channel < 4; ++channel) {
    for (int64_t pixel = 0; pixel < 21; ++pixel) {
      EXPECT_EQ(value.data<float>()[channel * 21 + pixel], float((pixel * 4 + channel) % 5) - 2);
    }
  }
}

// As `dynamo=False` writes it: which extents are -1 is computed, and replaced by 1.
TEST_F(ImportTokensTest, AShapeMayNameTheBatchAlone) {
  Integers("kept", {-1, -1}), Integers("flat", {-1}), Integers("minus", {-1});
  onnx::NodeProto& shape = Node("Shape", {"pixels"}, "n");
  Int(shape, "start", 0), Int(shape, "end", 1);
  Int(Node("Concat", {"n", "kept"}, "asked"), "axis", 0);
  Node("Shape", {"asked"}, "length");
  onnx::NodeProto& ones = Node("ConstantOfShape", {"length"}, "ones");
  onnx::AttributeProto& value = *ones.add_attribute();
  value.set_name("value"), value.set_type(4);
  value.mutable_t()->set_data_type(7), value.mutable_t()->add_dims(1);
  value.mutable_t()->add_int64_data(1);
  Node("Mul", {"ones", "minus"}, "unnamed");
  Node("Equal", {"asked", "unnamed"}, "open");
  onnx::NodeProto& where = Node("Where", {"open", "ones", "asked"}, "wanted");
  Node("Expand", {"token", "wanted"}, "repeated");
  Join();
  EndAt("joined", 0);
  EXPECT_THAT(AllLayers(), ElementsAre("ClassToken ", "PixelSlice pixel 0", "Flatten ", "FC "));
  where.set_input(1, "one");
  EXPECT_THAT(Error(), HasSubstr("chooses between constants of the shapes (1) and (3), by one of "
                                 "(3); expected one shape"));
  where.set_input(1, "m");
  EXPECT_THAT(Error(), HasSubstr("computes with real constants"));
  where.set_input(1, "ones");
  value.mutable_t()->set_data_type(1), value.mutable_t()->add_float_data(1);
  value.mutable_t()->clear_int64_data();
  EXPECT_THAT(Error(), HasSubstr("makes other than copies of a whole number"));
}

// A file of one sample needs no copies.
TEST_F(ImportTokensTest, OneSampleHasTheTokenItself) {
  Join().set_input(0, "token");
  EndAt("joined", -1);
  EXPECT_THAT(Error(), HasSubstr("its input 0 is not repeated for each sample of the batch"));
  Value(*onnx_.mutable_graph()->mutable_input(0), "x", {1, 3, 5, 6});
  EXPECT_THAT(AllLayers(), ElementsAre("ClassToken ", "PixelSlice pixel 20", "Flatten ", "FC "));
}

TEST_F(ImportTokensTest, SeveralTokensHaveTheirOrder) {
  onnx_.mutable_graph()->mutable_initializer(onnx_.graph().initializer_size() - 4)->set_dims(1, 2);
  onnx::TensorProto& token =
      *onnx_.mutable_graph()->mutable_initializer(onnx_.graph().initializer_size() - 4);
  for (int i = 4; i < 8; ++i) token.add_float_data(float(10 * i));
  Integers("two", {2, 4});
  Repeat();
  At(onnx_.graph().node_size() - 2).set_input(1, "two");
  Join();
  EndAt("joined", 1);
  EXPECT_THAT(AllLayers(),
              ElementsAre("ClassToken 2 tokens", "PixelSlice pixel 1", "Flatten ", "FC "));
  EXPECT_THAT(ParameterOf("ClassToken"), ElementsAre(-2, -1, 0, 1, 40, 50, 60, 70));
  // Channels first.
  token.set_dims(1, 4), token.set_dims(2, 2);
  Integers("turned", {4, 2});
  At(onnx_.graph().node_size() - 5).set_input(1, "turned");
  onnx::NodeProto& join = At(onnx_.graph().node_size() - 3);
  join.set_input(1, "t");
  join.mutable_attribute(0)->set_i(2);
  At(onnx_.graph().node_size() - 2).mutable_attribute(0)->set_i(2);
  EXPECT_THAT(AllLayers(),
              ElementsAre("ClassToken 2 tokens", "PixelSlice pixel 1", "Flatten ", "FC "));
  EXPECT_THAT(ParameterOf("ClassToken"), ElementsAre(-2, 0, 40, 60, -1, 1, 50, 70));
}

TEST_F(ImportTokensTest, OtherConstantsBesideAnImageAreRefused) {
  Repeat();
  onnx::NodeProto& join = Join();
  EndAt("joined", 0);
  join.mutable_attribute(0)->set_i(2);
  EXPECT_THAT(Error(), HasSubstr("joins a constant of shape (1, 1, 4) with the axes (N, 20, 4) "
                                 "along axis 2; class tokens have all channels"));
  join.mutable_attribute(0)->set_i(1);
  join.mutable_input()->SwapElements(0, 1);
  EXPECT_THAT(Error(), HasSubstr("joins constants with what the network computes"));
  join.mutable_input()->SwapElements(0, 1);
  join.set_input(1, "t");  // (N, 4, 20)
  EXPECT_THAT(Error(), HasSubstr("with the axes (N, 4, 20) along axis 1"));
  join.set_input(1, "pixels");
  At(onnx_.graph().node_size() - 3).set_op_type("Add");
  At(onnx_.graph().node_size() - 3).mutable_attribute()->Clear();
  EXPECT_THAT(Error(), HasSubstr("\"repeated\", is repeated for each sample; only a Concat reads"));
}

TEST_F(ImportTokensTest, AnEmbeddingHasTheAxesOfTheImage) {
  for (const auto& dims : std::vector<std::vector<int64_t>>{{20, 4}, {1, 20, 4}}) {
    const onnx::ModelProto before = onnx_;
    Tensor("embedding", dims);
    Node("Add", {"embedding", "pixels"}, "e");
    EndAt("e", 3);
    EXPECT_THAT(AllLayers(),
                ElementsAre("PositionEmbedding ", "PixelSlice pixel 3", "Flatten ", "FC "));
    EXPECT_EQ(Import()->notes,
              std::vector<std::string>{
                  "Layer \"the_e\" adds a constant to each element, as an embedding of positions. "
                  "Training changes it, unless the layer is frozen."});
    onnx_ = before;
  }
  Tensor("embedding", {4, 20});
  Node("Add", {"embedding", "pixels"}, "e");
  EndAt("e", 3);
  EXPECT_THAT(Error(), HasSubstr("adds a constant of shape (4, 20) to an image under the axes (N, "
                                 "20, 4); an embedding of positions has one element for each"));
}

// Rounding to bytes from 0 on is a relu after what may be negative, and no product in 8 bits.
TEST_F(ImportAttentionTest, SumsAndFactorsThatBecomeBytesHaveARelu) {
  Tensor("embedding", {4, 4, 5}), Tensor("half", {}).set_float_data(0, 0.5F);
  Tensor("scale", {}).set_float_data(0, 0.1F);
  onnx::TensorProto& zero = *onnx_.mutable_graph()->add_initializer();
  zero.set_name("zero"), zero.set_data_type(2), zero.add_int32_data(0);
  Node("Mul", {"c", "half"}, "h");
  Node("QuantizeLinear", {"h", "scale", "zero"}, "hq");
  Node("DequantizeLinear", {"hq", "scale", "zero"}, "hd");
  Node("Add", {"hd", "embedding"}, "e");
  Node("QuantizeLinear", {"e", "scale", "zero"}, "eq");
  Node("DequantizeLinear", {"eq", "scale", "zero"}, "ed");
  End("ed");
  EXPECT_THAT(Layers(), ElementsAre("Scale factor 0.5", "Relu ", "PositionEmbedding ", "Relu "));
  EXPECT_FALSE(Import()->model.quantization.has_value());
}

TEST_F(ImportTokensTest, PartsOfThePixelsAreSlices) {
  onnx::NodeProto& split = Node("Split", {"pixels"}, "a");
  split.add_output("b");
  Int(split, "axis", 1);
  Integers("parts", {5, 15});
  split.add_input("parts");
  Integers("five", {5}), Integers("end", {INT64_MAX});
  onnx::NodeProto& slice = Node("Slice", {"b", "five", "end", "one"}, "s");
  onnx::NodeProto& mean = Node("ReduceMean", {"s"}, "f");
  Ints(mean, "axes", {1}), Int(mean, "keepdims", 0);
  Node("Gemm", {"f", "m"}, "y");
  EXPECT_THAT(AllLayers(), ElementsAre("PixelSlice pixels 5 to 19", "PixelSlice pixels 5 to 14",
                                       HasSubstr("AveragePool2D"), "Flatten ", "FC "));
  slice.set_input(2, "five");
  EXPECT_THAT(Error(), HasSubstr("takes places 5 to 4 of axis 1 of (N, 15, 4)"));
  slice.set_input(3, "zero");
  EXPECT_THAT(Error(), HasSubstr("takes a part of axis 0 of (N, 15, 4); only rows, columns, "));
}

}  // namespace
}  // namespace dtnn
