#include "models/onnx/import/import.h"

#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/onnx/testing/import_fixture.h"

namespace dtnn {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;

TEST_F(ImportTest, LayersAreNamedAfterNodesOrModules) {
  At(0).set_input(1, "conv1.weight");
  onnx_.mutable_graph()->mutable_initializer(0)->set_name("conv1.weight");
  At(3).set_name("/classifier/Gemm");
  const auto imported = Import();
  ASSERT_TRUE(imported.ok()) << imported.status();
  std::vector<std::string> names;
  for (const auto& node : imported->model.graph.nodes()) names.push_back(node.name);
  EXPECT_THAT(names,
              ::testing::ElementsAre("0_Input", "conv1", "the_p", "the_f", "classifier.Gemm"));
  EXPECT_EQ(imported->model.graph.name(), "net");
  EXPECT_EQ(imported->model.description.loss, "");
}

TEST_F(ImportTest, AFinalActivationIsAddedOnce) {
  for (const bool has : {false, true}) {
    if (has) Insert("Softmax", {"y"}, 3), onnx_.mutable_graph()->mutable_output(0)->set_name("new");
    const auto imported = Import({.final_activation = FinalActivation::kSoftmax});
    ASSERT_TRUE(imported.ok()) << imported.status();
    EXPECT_EQ(imported->model.graph.nodes().size(), 6U);
    EXPECT_EQ(imported->model.graph.nodes().back().layer->type_name(), "Softmax");
    EXPECT_EQ(imported->model.description.loss, "categorical_cross_entropy");
  }
}

// Also where the softmax that the program adds follows.
TEST_F(ImportTest, ALastLogSoftmaxIsLeftOut) {
  Int(Insert("LogSoftmax", {"y"}, 3), "axis", 1);
  onnx_.mutable_graph()->mutable_output(0)->set_name("new");
  for (const bool softmax : {false, true}) {
    const auto imported =
        Import({.final_activation = softmax ? FinalActivation::kSoftmax : FinalActivation::kOther});
    ASSERT_TRUE(imported.ok()) << imported.status();
    EXPECT_EQ(imported->model.graph.nodes().back().layer->type_name(), softmax ? "Softmax" : "FC");
    EXPECT_THAT(
        imported->notes,
        ::testing::Contains(
            "Node \"the_new\" (LogSoftmax) is left out: the network ends in logits, of which "
            "the final activation softmax makes probabilities."));
  }
  onnx::NodeProto& node = At(4);
  node.mutable_attribute(0)->set_i(0);
  EXPECT_THAT(Error(), HasSubstr("is read as the last operator alone, over the features of a "
                                 "sample or the channels of an image; leave it out, and import "
                                 "with softmax as the final activation"));
  node.mutable_attribute(0)->set_i(-1);
  EXPECT_TRUE(Import().ok());
  Node("Relu", {"new"}, "after");
  onnx_.mutable_graph()->mutable_output(0)->set_name("after");
  EXPECT_THAT(Error(), HasSubstr("is read as the last operator alone"));
}

TEST_F(ImportTest, ActivationsThatAreNotQuiteTheLayers) {
  Insert("Gelu", {"c"});
  EXPECT_TRUE(Import().ok());
  onnx::AttributeProto& approximate = *At(1).add_attribute();
  approximate.set_name("approximate");
  approximate.set_s("tanh");
  EXPECT_THAT(Error(), HasSubstr("approximates GELU by tanh; the layer has the exact one"));
  At(1).clear_attribute();
  At(1).set_op_type("HardSigmoid");
  EXPECT_THAT(Error(), HasSubstr("\"alpha\" and \"beta\" are 0.2 and 0.5; the layer has 1/6"));
  At(1).set_op_type("Erf");
  EXPECT_THAT(Error(), HasSubstr("is read as x * (Erf(x / sqrt 2) + 1) / 2 alone"));
}

TEST_F(ImportTest, GeluInTheTwoOrdersInWhichPyTorchWritesIt) {
  const auto scalar = [&](const char* name, float value) {
    onnx::TensorProto& tensor = Tensor(name, {});
    tensor.set_float_data(0, value);
  };
  scalar("root", std::sqrt(2.0F)), scalar("one", 1), scalar("half", 0.5F);
  const auto steps = [&](const std::vector<std::vector<std::string>>& products) {
    onnx::GraphProto& graph = *onnx_.mutable_graph();
    const std::vector<onnx::NodeProto> rest(graph.node().begin() + 1, graph.node().end());
    graph.mutable_node()->DeleteSubrange(1, graph.node_size() - 1);
    Node("Div", {"c", "root"}, "over"), Node("Erf", {"over"}, "erf");
    Node("Add", {"erf", "one"}, "plus");
    for (const auto& product : products) Node("Mul", {product[0], product[1]}, product[2]);
    for (const onnx::NodeProto& node : rest) *graph.add_node() = node;
    graph.mutable_node(6)->set_input(0, "gelu");
  };
  const onnx::ModelProto before = onnx_;
  for (const bool halved_first : {false, true}) {
    onnx_ = before;
    const std::string product = halved_first ? "half" : "c";
    steps({{product, "plus", "product"}, {"product", halved_first ? "c" : "half", "gelu"}});
    const auto imported = Import();
    ASSERT_TRUE(imported.ok()) << imported.status();
    EXPECT_EQ(imported->model.graph.nodes()[2].layer->type_name(), "GELU");
    EXPECT_EQ(imported->model.graph.nodes().size(), 6U);
    At(1).mutable_input()->SwapElements(0, 1);
    EXPECT_THAT(Error(), HasSubstr("operator \"Div\"")) << "the root of 2 over x";
    At(1).mutable_input()->SwapElements(0, 1);
    (halved_first ? *At(5).mutable_input(1) : *At(4).mutable_input(0)) =
        "x";  // another value than the one below Erf
    EXPECT_THAT(Error(), HasSubstr("the other steps do not follow"));
  }
}

TEST_F(ImportTest, WhatNoLayerComputesIsNamedWithItsNode) {
  Insert("Celu", {"c"});
  EXPECT_THAT(Error(), HasSubstr("net.onnx: node 1 (\"the_new\", operator \"Celu\"): no layer "
                                 "computes it; the operators that are read are Add, "));
  At(1).set_op_type("LeakyRelu");
  onnx::AttributeProto& alpha = *At(1).add_attribute();
  alpha.set_name("alpha");
  alpha.set_f(0.5F);
  EXPECT_TRUE(Import().ok());
  alpha.set_name("beta");
  EXPECT_THAT(Error(), HasSubstr("its attribute \"beta\" is not one that this program knows"));
  At(1).clear_attribute();
  At(1).set_domain("com.microsoft");
  EXPECT_THAT(Error(), HasSubstr("is of the domain \"com.microsoft\""));
  At(1).clear_domain();
  At(1).set_op_type("Mul");
  At(1).add_input("c");
  EXPECT_THAT(Error(), HasSubstr("but has (4, 4, 5) and (4, 4, 5)"));
  At(1).set_op_type("Sub");
  EXPECT_THAT(Error(), HasSubstr("computes with values of the network"));
}

TEST_F(ImportTest, GraphsThatAreNoneAreRefused) {
  const onnx::ModelProto valid = onnx_;
  const std::pair<std::function<void(onnx::GraphProto&)>, const char*> cases[] = {
      {[](auto& g) { g.mutable_node(0)->set_input(0, "y"); }, "the output depends on 0 inputs"},
      {[](auto& g) { g.mutable_node(1)->set_input(0, "y"); }, "the output depends on 0 inputs"},
      {[](auto& g) { g.mutable_node()->SwapElements(0, 1); },
       "reads \"c\", which no node before it makes"},
      {[](auto& g) { g.mutable_node(1)->set_input(0, "nothing"); },
       "the output depends on 0 inputs"},
      {[](auto& g) { g.mutable_node(1)->set_output(0, "c"); },
       "the name \"c\" stands for two values"},
      {[](auto& g) { g.mutable_initializer(0)->set_name("m"); },
       "the name \"m\" stands for two values"},
      {[](auto& g) { g.mutable_output(0)->set_name("z"); }, "the output depends on 0 inputs"},
      {[](auto& g) { g.add_output()->set_name("c"); }, "has 2 outputs"},
      {[](auto& g) { g.mutable_output(0)->set_name("w"); }, "the output depends on 0 inputs"},
      {[](auto& g) { g.mutable_node(2)->clear_output(); }, "the output depends on 0 inputs"},
      {[](auto& g) { g.mutable_initializer(0)->set_dims(0, -4); }, "an axis of -4 elements"},
      {[](auto& g) { g.mutable_initializer(0)->set_dims(0, int64_t{1} << 62); }, "has an axis of"},
      {[](auto& g) {
         g.mutable_initializer(0)->set_dims(0, int64_t{1} << 39);
         g.mutable_initializer(0)->set_dims(1, int64_t{1} << 39);
       },
       "more than 2\\^40 elements"},
      {[](auto& g) { g.mutable_initializer(0)->set_dims(0, 5); }, "bytes of data; its shape"},
      {[](auto& g) { g.mutable_initializer(0)->set_data_type(8); }, "elements of type string"},
      {[](auto& g) {
         g.mutable_input(0)->mutable_type()->mutable_tensor_type()->set_elem_type(10);
       },
       "elements of type float16; networks take float, so export"},
      {[](auto& g) { g.mutable_initializer(0)->set_float_data(3, NAN); }, "contain NaN"},
      {[](auto& g) {
         g.mutable_initializer(1)->set_dims(0, 2);
         g.mutable_initializer(1)->set_dims(1, 4);
       },
       "its input has 4 features"},
      {[](auto& g) { Int(*g.mutable_node(0), "group", 2); }, "2 groups do not fit"},
      {[](auto& g) {
         Ints(*g.mutable_node(0), "strides", {1, 2, 3});
       },
       "has 3 numbers"},
      {[](auto& g) {
         Ints(*g.mutable_node(0), "pads", {0, 0, -1, 0});
       },
       "\"pads\" is not 4"},
      {[](auto& g) {
         Ints(*g.mutable_node(0), "pads", {0, 0, 1 << 20, 0});
       },
       "paddings that differ from side to side"},
      {[](auto& g) {
         Ints(*g.mutable_node(0), "dilations", {0, 1});
       },
       "strides or dilations below 1"},
      {[](auto& g) {
         Ints(*g.mutable_node(0), "dilations", {int64_t{1} << 62, 1});
       },
       "above 16777216"},
      {[](auto& g) {
         Ints(*g.mutable_node(0), "strides", {1, INT64_MAX});
       },
       "above 16777216"},
      {[](auto& g) {
         Ints(*g.mutable_node(0), "strides", {1, 16777217});
       },
       "above 16777216"},
      {[](auto& g) {
         Ints(*g.mutable_node(0), "pads", {0, 0, 16777217, 0});
       },
       "\"pads\" is not 4 numbers from 0 to 16777216"},
      {[](auto& g) {
         Ints(*g.mutable_node(0), "pads", {0, 0, 16777216, 0});
       },
       "paddings that differ from side to side"},
      {[](auto& g) {
         g.mutable_node(1)->set_op_type("MaxPool");
         Ints(*g.mutable_node(1), "kernel_shape", {INT64_MAX, 1});
       },
       "above 16777216"},
      {[](auto& g) {
         onnx::TensorProto& scale = *g.add_initializer();
         scale.set_name("scale");
         scale.set_data_type(1);
         scale.add_float_data(1);
         onnx::TensorProto& zero = *g.add_initializer();
         zero.set_name("zero");
         zero.set_data_type(7);
         zero.add_int64_data(INT64_MIN);
         onnx::TensorProto& bytes = *g.mutable_initializer(1);
         bytes.set_data_type(7);
         bytes.clear_float_data();
         for (int i = 0; i < 8; ++i) bytes.add_int64_data(1);
         onnx::NodeProto node;
         node.set_op_type("DequantizeLinear");
         for (const char* input : {"m", "scale", "zero"}) node.add_input(input);
         node.add_output("dq");
         *g.add_node() = node;
         g.mutable_node()->SwapElements(3, 4);
         g.mutable_node(4)->set_input(1, "dq");
       },
       "not both int8, uint8 or int32"},
      {[](auto& g) { Int(*g.mutable_node(2), "axis", 9); }, "names axis 9 of 4 axes"},
      {[](auto& g) {
         Value(*g.mutable_input(0), "x", {-1, 3, 5, -1});
       },
       "along axis 3"},
      {[](auto& g) {
         Value(*g.mutable_input(0), "x", {1, 3, 5});
       },
       "has 3 axes"},
      {[](auto& g) {
         Value(*g.mutable_input(0), "x", {1, 3, 1, 1});
       },
       "kernel"},
  };
  for (const auto& [change, message] : cases) {
    onnx_ = valid;
    change(*onnx_.mutable_graph());
    EXPECT_THAT(Error(), ContainsRegex(message));
  }
  onnx_ = valid;
  onnx_.mutable_opset_import(0)->set_version(6);
  EXPECT_THAT(Error(), HasSubstr("has opset 6; opsets 7 to 25 are read"));
  onnx_.mutable_opset_import(0)->set_version(17);
  onnx_.add_functions();
  EXPECT_THAT(Error(), HasSubstr("export it with these inlined"));
}

TEST_F(ImportTest, AnExtentThatIsNotToldIsGiven) {
  Value(*onnx_.mutable_graph()->mutable_input(0), "x", {-1, 3, -1, -1});
  EXPECT_THAT(Error(), HasSubstr("give the size of a sample"));
  const auto imported = Import({.sample = ImageExtents{7, 9, 3}});
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_EQ(imported->model.graph.input_shape(), Shape({7, 9, 3}));
  EXPECT_THAT(Error({.sample = ImageExtents{7, 9, 4}}),
              HasSubstr("the input shape that was given has 4 there"));
}

// The order of what comes out would be another one.
TEST_F(ImportTest, AFlattenedOutputStaysNchw) {
  onnx_.mutable_graph()->mutable_node()->DeleteSubrange(1, 3);
  Node("Flatten", {"c"}, "y");
  const auto imported = Import();
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_EQ(imported->model.graph.format(), TensorFormat::kNCHW);
  EXPECT_EQ(imported->notes.size(), 1U);
}

}  // namespace
}  // namespace dtnn
