#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/onnx/testing/import_fixture.h"

namespace dtnn {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ImportElementwiseTest : public ImportTest {
 protected:
  void Scalar(const std::string& name, float value) { Tensor(name, {}).set_float_data(0, value); }
  static void Float(onnx::NodeProto& node, const std::string& name, float value) {
    onnx::AttributeProto& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_f(value);
  }
  // The type of what follows the convolution, or the error.
  std::string Layer() {
    const auto imported = Import();
    if (!imported.ok()) return std::string(imported.status().message());
    return std::string(imported->model.graph.nodes()[2].layer->type_name());
  }
  std::vector<std::string> Types() {
    std::vector<std::string> types;
    const auto imported = Import();
    EXPECT_EQ(imported.status(), absl::OkStatus());
    if (!imported.ok()) return types;
    for (const auto& node : imported->model.graph.nodes()) {
      types.push_back(std::string(node.layer->type_name()));
    }
    return types;
  }
};

TEST_F(ImportElementwiseTest, EachActivationIsItsLayer) {
  for (const auto& [op, layer] :
       {std::pair("Relu", "Relu"), std::pair("Sigmoid", "Sigmoid"), std::pair("Tanh", "Tanh"),
        std::pair("Atanh", "Arctanh"), std::pair("LeakyRelu", "LeakyRelu"),
        std::pair("HardSwish", "HardSwish"), std::pair("Gelu", "GELU"),
        std::pair("Dropout", "Dropout"), std::pair("Identity", "AveragePool2D")}) {
    const onnx::ModelProto before = onnx_;
    Insert(op, {"c"});
    EXPECT_EQ(Layer(), layer);
    onnx_ = before;
  }
}

TEST_F(ImportElementwiseTest, ClipsFromZeroToSixOrToNothingAreRelus) {
  constexpr float kInfinite = std::numeric_limits<float>::infinity();
  const onnx::ModelProto valid = onnx_;
  const auto layer = [&](float low, float high, bool attributes) {
    onnx_ = valid;
    if (attributes) {
      onnx::NodeProto& clip = Insert("Clip", {"c"});
      Float(clip, "min", low), Float(clip, "max", high);
    } else {
      Scalar("low", low), Scalar("high", high);
      Insert("Clip", {"c", "low", "high"});
    }
    return Layer();
  };
  for (const bool attributes : {false, true}) {
    EXPECT_EQ(layer(0, 6, attributes), "Relu6");
    EXPECT_EQ(layer(0, 3e38F, attributes), "Relu");
    EXPECT_EQ(layer(0, 7, attributes), "Clip");
    EXPECT_EQ(layer(-1, 6, attributes), "Clip");
    EXPECT_EQ(layer(-kInfinite, 6, attributes), "Clip");
    EXPECT_EQ(layer(1, 3e38F, attributes), "Clip");
  }
  onnx_ = valid;
  Scalar("low", 0);
  Insert("Clip", {"c", "low"});
  EXPECT_EQ(Layer(), "Relu") << "no largest value";
  At(1).set_input(1, "w");
  EXPECT_THAT(Error(), HasSubstr("its input 1 is not one real number"));
  Integers("whole", {0});
  At(1).set_input(1, "whole");
  EXPECT_THAT(Error(), HasSubstr("its input 1 is not one real number"));
}

TEST_F(ImportElementwiseTest, DropoutsOfInferenceHaveARateAndNoMask) {
  onnx::NodeProto& dropout = Insert("Dropout", {"c"});
  const auto settings = [&] { return Import()->model.graph.nodes()[2].layer->SettingsCell(); };
  EXPECT_THAT(settings(), HasSubstr("0.5"));
  Scalar("rate", 0.25F);
  dropout.add_input("rate");
  EXPECT_THAT(settings(), HasSubstr("0.25"));
  Int(dropout, "seed", 7);
  EXPECT_EQ(Error(), "");
  onnx::TensorProto& training = *onnx_.mutable_graph()->add_initializer();
  training.set_name("training"), training.set_data_type(9), training.add_int32_data(0);
  dropout.add_input("training");
  EXPECT_EQ(Error(), "");
  training.set_int32_data(0, 1);
  EXPECT_THAT(Error(), HasSubstr("drops in evaluation too; export the model in evaluation mode"));
  training.set_int32_data(0, 0);
  dropout.add_output("mask");
  EXPECT_EQ(Error(), "") << "a mask that nobody reads";
  Insert("Identity", {"mask"}, 1).set_output(0, "again");
  At(3).set_input(0, "again");
  EXPECT_THAT(Error(), HasSubstr("its second output, the mask, is used"));
}

TEST_F(ImportElementwiseTest, SoftmaxesAreOverChannelsOrFeatures) {
  const onnx::ModelProto valid = onnx_;
  Int(Insert("Softmax", {"y"}, 3), "axis", 1);
  onnx_.mutable_graph()->mutable_output(0)->set_name("new");
  EXPECT_EQ(Types().back(), "Softmax");
  At(4).mutable_attribute(0)->set_i(-1);
  EXPECT_EQ(Types().back(), "Softmax");
  At(4).mutable_attribute(0)->set_i(0);
  EXPECT_THAT(Error(), HasSubstr("is a softmax over axis 0 of 2"));
  At(4).mutable_attribute(0)->set_i(2);
  EXPECT_THAT(Error(), HasSubstr("names axis 2 of 2 axes"));
  At(4).mutable_attribute(0)->set_i(-3);
  EXPECT_THAT(Error(), HasSubstr("names axis -3 of 2 axes"));
  // Images have channels.
  onnx_ = valid;
  Int(Insert("Softmax", {"c"}), "axis", 1);
  EXPECT_EQ(Layer(), "Softmax");
  At(1).mutable_attribute(0)->set_i(-3);
  EXPECT_EQ(Layer(), "Softmax");
  for (const int axis : {0, 2, 3, -1, -2, -4}) {
    At(1).mutable_attribute(0)->set_i(axis);
    EXPECT_THAT(Error(), HasSubstr("is a softmax over axis ")) << axis;
  }
  // Until opset 12 the default is axis 1, and all axes from there on are one.
  At(1).clear_attribute();
  EXPECT_THAT(Error(), HasSubstr("is a softmax over axis 3 of 4"));
  onnx_.mutable_opset_import(0)->set_version(12);
  EXPECT_THAT(Error(), HasSubstr("is a softmax over axis 1 of 4"));
}

TEST_F(ImportElementwiseTest, SumsAndConcatenationsJoinImagesOfOneOrder) {
  const onnx::ModelProto valid = onnx_;
  for (const std::string type : {"Sum", "Concat"}) {
    SCOPED_TRACE(type);
    onnx_ = valid;
    onnx::NodeProto& join = Insert(type, {"c"});
    if (type == "Concat") Int(join, "axis", 1);
    EXPECT_EQ(Layer(), "AveragePool2D") << "of one input";
    At(1).set_output(0, "joined"), At(2).set_input(0, "joined");
    Insert("Relu", {"c"}).set_output(0, "r");
    At(2).add_input("r");
    At(2).set_input(0, "c");
    onnx::TensorProto& weights = *onnx_.mutable_graph()->mutable_initializer(1);
    if (type == "Concat") {
      weights.set_dims(0, 8);
      for (int i = 0; i < 8; ++i) weights.add_float_data(0);
    }
    EXPECT_THAT(Types(), ElementsAre("Input", "Conv2D", "Relu",
                                     type == "Sum" ? "AdditionBlock" : "ConcatenationBlock",
                                     "AveragePool2D", "Flatten", "FC"));
    if (type == "Concat") {
      At(2).mutable_attribute(0)->set_i(-3);
      EXPECT_EQ(Error(), "");
      for (const int axis : {0, 2, 3}) {
        At(2).mutable_attribute(0)->set_i(axis);
        EXPECT_THAT(Error(), HasSubstr("; the layer joins channels")) << axis;
      }
      At(2).mutable_attribute(0)->set_i(4);
      EXPECT_THAT(Error(), HasSubstr("names axis 4 of 4 axes"));
      At(2).mutable_attribute(0)->set_i(1);
    }
    Ints(Insert("Transpose", {"r"}, 1), "perm", {0, 2, 3, 1});
    EXPECT_THAT(Error(), HasSubstr("joins values with channels first and last"));
  }
}

TEST_F(ImportElementwiseTest, MissingInputsAreNamed) {
  const onnx::ModelProto valid = onnx_;
  for (const char* type : {"Relu", "Softmax", "Identity", "Flatten", "Dropout", "Neg"}) {
    onnx_ = valid;
    Insert(type, {"c"}).clear_input();
    At(1).add_input("");
    EXPECT_THAT(Error(), ::testing::AnyOf(HasSubstr("has no input 0"),
                                          HasSubstr("the output depends on 0 inputs")))
        << type;
  }
  onnx_ = valid;
  Insert("Sum", {"c"}).add_input("");
  EXPECT_THAT(Error(), HasSubstr("has no input 1"));
  onnx_ = valid;
  At(0).mutable_input()->RemoveLast();
  EXPECT_THAT(Error(), HasSubstr("has no input 1"));
}

TEST_F(ImportElementwiseTest, TheOpsetIsThatOfTheOperators) {
  onnx_.mutable_opset_import(0)->set_domain("ai.onnx");
  EXPECT_EQ(Error(), "");
  auto& other = *onnx_.add_opset_import();
  other.set_domain("com.microsoft"), other.set_version(1);
  EXPECT_EQ(Error(), "");
  for (const int64_t version : {6, 26}) {
    onnx_.mutable_opset_import(0)->set_version(version);
    EXPECT_THAT(Error(), HasSubstr("; opsets 7 to 25 are read"));
  }
  for (const int64_t version : {7, 25}) {
    onnx_.mutable_opset_import(0)->set_version(version);
    EXPECT_EQ(Error(), "") << version;
  }
  onnx_.mutable_opset_import(0)->set_domain("com.microsoft");
  EXPECT_THAT(Error(), HasSubstr("does not say which opset its operators are of"));
}

}  // namespace
}  // namespace dtnn
