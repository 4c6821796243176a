#include <cmath>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "data/preprocessing.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "layers/normalization/group_normalization.h"
#include "models/onnx/testing/import_fixture.h"

namespace dtnn {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST_F(ImportTest, BatchNormalizationsAreChecked) {
  Tensor("ones", {4});
  onnx_.mutable_graph()->mutable_initializer(2)->clear_float_data();
  for (int i = 0; i < 4; ++i) onnx_.mutable_graph()->mutable_initializer(2)->add_float_data(1);
  onnx::NodeProto& node = Insert("BatchNormalization", {"c", "ones", "ones", "ones", "ones"});
  ASSERT_EQ(Import().status(), absl::OkStatus());
  onnx::AttributeProto& attribute = *node.add_attribute();
  const std::tuple<const char*, float, const char*> cases[] = {
      {"epsilon", 0.0F, "has an epsilon of 0"},       {"epsilon", NAN, "has an epsilon of nan"},
      {"epsilon", INFINITY, "has an epsilon of inf"}, {"momentum", -0.5F, "has a momentum of -0.5"},
      {"momentum", 1.5F, "has a momentum of 1.5"},    {"momentum", NAN, "has a momentum of nan"}};
  for (const auto& [name, value, message] : cases) {
    attribute.set_name(name);
    attribute.set_f(value);
    EXPECT_THAT(Error(), HasSubstr(message));
  }
  node.clear_attribute();
  Tensor("variance", {4});
  node.set_input(4, "variance");
  EXPECT_THAT(Error(), HasSubstr("its running variance has the negative number -2"));
}

// As PyTorch writes GroupNorm: groups of channels under one axis, and what follows for each
// channel.
TEST_F(ImportTest, GroupsOfChannelsUnderOneAxisAreNormalised) {
  for (const int64_t groups : {1, 2, 4}) {
    onnx_.Clear();
    onnx_.add_opset_import()->set_version(17);
    Value(*onnx_.mutable_graph()->add_input(), "x", {-1, 4, 5, 6});
    onnx_.mutable_graph()->add_output()->set_name("y");
    Integers("groups", {0, groups, -1});
    Integers("image", {-1, 4, 5, 6});
    Tensor("scale", {groups}), Tensor("shift", {groups}), Tensor("each", {4, 1, 1});
    Node("Reshape", {"x", "groups"}, "a");
    onnx::AttributeProto& epsilon =
        *Node("InstanceNormalization", {"a", "scale", "shift"}, "b").add_attribute();
    epsilon.set_name("epsilon");
    epsilon.set_f(0.25F);
    Node("Reshape", {"b", "image"}, "c");
    Node("Mul", {"c", "each"}, "d"), Node("Add", {"d", "each"}, "y");
    const auto imported = Import();
    ASSERT_EQ(imported.status(), absl::OkStatus()) << groups;
    const auto& nodes = imported->model.graph.nodes();
    ASSERT_EQ(nodes.size(), 3U) << "the product and the sum are one convolution";
    EXPECT_EQ(nodes[1].layer->attributes(),
              GroupNormalizationLayer({.groups = groups, .epsilon = 0.25}).attributes());
    EXPECT_EQ(nodes[1].output, Shape({5, 6, 4}));
    for (const int parameter : {0, 1}) {
      const dtnn::Tensor values = imported->store->Value(1, parameter);
      for (int64_t c = 0; c < 4; ++c) {
        EXPECT_EQ(values.data<float>()[c], float(c / (4 / groups)) - 2) << groups << ", " << c;
      }
    }
  }
  onnx::TensorProto& axes = *onnx_.mutable_graph()->mutable_initializer(0);
  axes.set_dims(0, 4), axes.set_int64_data(1, 2), axes.set_int64_data(2, 2);
  axes.add_int64_data(30);
  EXPECT_THAT(Error(),
              HasSubstr("normalises over the axes (N, 2, 2, 30) of an image of 4 channels; "
                        "expected (N, groups, all else), with groups of channels"));
}

// PyTorch's GroupNorm is one layer: what each group is multiplied with is 1, and each channel has
// its own numbers, or, without learned ones, all have one.
TEST_F(ImportTest, GammaAndBetaOfGroupsFollowThem) {
  Integers("groups", {0, 2, -1});
  Integers("image", {-1, 4, 4, 5});
  onnx::TensorProto &ones = Tensor("ones", {2}), &zeros = Tensor("zeros", {2});
  for (int i = 0; i < 2; ++i) ones.set_float_data(i, 1), zeros.set_float_data(i, 0);
  Tensor("gamma", {4, 1, 1}), Tensor("beta", {4, 1, 1});
  Tensor("one", {1, 1, 1}).set_float_data(0, 1), Tensor("zero", {1, 1, 1}).set_float_data(0, 0);
  Insert("Reshape", {"c", "groups"}).set_output(0, "g");
  Insert("InstanceNormalization", {"g", "ones", "zeros"}, 1).set_output(0, "i");
  At(2).set_name("/stem/norm/InstanceNormalization");
  Insert("Reshape", {"i", "image"}, 2).set_output(0, "n");
  Insert("Mul", {"n", "gamma"}, 3).set_output(0, "s");
  Insert("Add", {"s", "beta"}, 4);
  const onnx::ModelProto whole = onnx_;
  auto types = [&] {
    const auto imported = Import();
    EXPECT_EQ(imported.status(), absl::OkStatus());
    std::vector<std::string> types;
    if (!imported.ok()) return types;
    const auto& nodes = imported->model.graph.nodes();
    for (size_t i = 2; i + 3 < nodes.size(); ++i) {
      types.push_back(std::string(nodes[i].layer->type_name()));
    }
    return types;
  };
  EXPECT_THAT(types(), ElementsAre("GroupNormalization"));
  const auto imported = Import();
  ASSERT_EQ(imported.status(), absl::OkStatus());
  EXPECT_EQ(imported->model.graph.nodes()[2].name, "stem.norm");
  for (const int parameter : {0, 1}) {
    const dtnn::Tensor values = imported->store->Value(2, parameter);
    EXPECT_THAT(std::vector(values.data<float>(), values.data<float>() + 4),
                ElementsAre(-2, -1, 0, 1));
  }
  At(4).set_input(1, "one"), At(5).set_input(1, "zero");
  EXPECT_THAT(types(), ElementsAre("GroupNormalization"));
  // What else they may be: numbers of a product and a sum that stand elsewhere.
  onnx_ = whole;
  At(4).set_op_type("Relu"), At(4).mutable_input()->RemoveLast();
  EXPECT_THAT(Error(), HasSubstr("adds a constant; only a convolution"));
  onnx_ = whole;
  At(5).set_input(0, "n"), At(5).set_input(1, "s");
  EXPECT_THAT(types(), ElementsAre("GroupNormalization", "Conv2D", "AdditionBlock"));
  onnx_ = whole;
  At(5).set_op_type("Mul");
  EXPECT_THAT(types(), ElementsAre("GroupNormalization", "Conv2D"));
}

TEST_F(ImportTest, NormalisationsWithinSamplesAreChecked) {
  Tensor("each", {4});
  Tensor("pair", {2});
  onnx::NodeProto& node = Insert("GroupNormalization", {"c", "each", "each"});
  Int(node, "num_groups", 2);
  EXPECT_EQ(Import().status(), absl::OkStatus());
  node.set_input(1, "pair");  // opset 18: a number per group
  const auto imported = Import();
  ASSERT_EQ(imported.status(), absl::OkStatus());
  const dtnn::Tensor gamma = imported->store->Value(2, /*gamma*/ 1);
  EXPECT_THAT(std::vector(gamma.data<float>(), gamma.data<float>() + 4),
              ::testing::ElementsAre(-2, -2, -1, -1));
  node.mutable_attribute(0)->set_i(3);
  EXPECT_THAT(Error(), HasSubstr("its attribute \"num_groups\" is 3; expected a divisor of 4"));
  node.clear_attribute();
  node.set_op_type("InstanceNormalization");
  EXPECT_THAT(Error(), HasSubstr("its input 1 has shape (2); layers have one number for each of "
                                 "the 4 channels: (4)"));
  node.set_input(1, "each");
  EXPECT_EQ(Import().status(), absl::OkStatus());
  node.set_op_type("LayerNormalization");
  EXPECT_THAT(Error(), HasSubstr("normalises over other axes than the channels"));
  // Where channels come first, (4) would be a number per column.
  Int(node, "axis", 1);
  EXPECT_THAT(Error(), HasSubstr("its input 1 has shape (4); layers have one number for each of "
                                 "the 4 channels: (4, 1, 1)"));
  Tensor("planes", {4, 1, 1});
  Tensor("batch_of_planes", {1, 4, 1, 1});
  node.set_input(1, "planes");
  node.set_input(2, "batch_of_planes");
  EXPECT_EQ(Import().status(), absl::OkStatus());
}

// Files have floats: 1e-5 is 9.99999974737875163555e-06 there.
TEST_F(ImportTest, NumbersAreTheDecimalsThatWereMeant) {
  Tensor("ones", {4});
  for (float& value : *onnx_.mutable_graph()->mutable_initializer(2)->mutable_float_data()) {
    value = 1;
  }
  onnx::NodeProto& norm = Insert("BatchNormalization", {"c", "ones", "ones", "ones", "ones"});
  onnx::AttributeProto& epsilon = *norm.add_attribute();
  epsilon.set_name("epsilon");
  epsilon.set_f(1e-5F);
  for (const double expected : {1e-5, 1e-3, 0.3, double(1e-5F * 3)}) {
    epsilon.set_f(float(expected));
    const auto imported = Import();
    ASSERT_TRUE(imported.ok()) << imported.status();
    const Attributes attributes = imported->model.graph.nodes()[2].layer->attributes();
    AttributeReader read(attributes);
    const double epsilon_read = read.Real("epsilon");
    EXPECT_EQ(float(epsilon_read), float(expected));
    if (double(float(expected)) != expected) {
      EXPECT_EQ(epsilon_read, expected);
    }
  }
}

class ImportPreprocessingTest : public ImportTest {
 protected:
  ImportPreprocessingTest() {
    for (const auto& [name, values] :
         {std::pair(std::string("mean"), std::vector<float>{0.5F, 0.25F, 0.125F}),
          {"std", std::vector<float>{0.25F, 0.5F, 2}}}) {
      onnx::TensorProto& tensor = Tensor(name, {1, 3, 1, 1});
      tensor.mutable_float_data()->Assign(values.begin(), values.end());
    }
    Tensor("two", {}).set_float_data(0, 2);
    Tensor("zero", {}).set_float_data(0, 0);
  }
  // Another node before all that read its output, which the convolution does.
  onnx::NodeProto& First(const std::string& type, const std::vector<std::string>& inputs,
                         const std::string& output) {
    Node(type, inputs, output);
    for (int i = onnx_.graph().node_size() - 1; i > firsts_; --i) {
      onnx_.mutable_graph()->mutable_node()->SwapElements(i, i - 1);
    }
    At(++firsts_).set_input(0, output);
    return At(firsts_ - 1);
  }
  std::string FirstLayer() {
    const auto imported = Import();
    if (!imported.ok()) return std::string(imported.status().message());
    return std::string(imported->model.graph.nodes()[1].layer->type_name());
  }

  int firsts_ = 0;
};

TEST_F(ImportPreprocessingTest, IsWhatANetworkDoesFirst) {
  First("Sub", {"x", "mean"}, "a");
  First("Div", {"a", "std"}, "b");
  const auto imported = Import();
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_EQ(imported->model.graph.nodes()[1].layer->type_name(), "Conv2D");
  const Normalization& made = imported->model.preprocessing.normalization;
  EXPECT_THAT(made.offset, ElementsAre(-0.5, -0.25, -0.125));
  EXPECT_THAT(made.scale, ElementsAre(4, 2, 0.5));
  EXPECT_EQ(imported->normalization, made);
  EXPECT_THAT(imported->notes,
              ElementsAre("The network begins with a normalisation of its input, of mean "
                          "0.5,0.25,0.125 and std 0.25,0.5,2, which is a part of the preprocessing "
                          "now: of images, and of the arrays of Python. Floats that are given to "
                          "C, C++ or the server must have it."));
}

TEST_F(ImportPreprocessingTest, NumbersAndOtherOperatorsAreStepsToo) {
  First("Mul", {"two", "x"}, "a");
  First("Add", {"a", "mean"}, "b");
  First("Div", {"b", "two"}, "c0");
  const auto imported = Import();
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_THAT(imported->normalization.scale, ElementsAre(1, 1, 1));
  EXPECT_THAT(imported->normalization.offset,
              ElementsAre(DoubleEq(0.25), DoubleEq(0.125), DoubleEq(0.0625)));
}

TEST_F(ImportPreprocessingTest, WhatReadsTheInputTooKeepsIt) {
  First("Mul", {"x", "two"}, "a");
  First("Add", {"a", "x"}, "both");
  EXPECT_EQ(FirstLayer(), "Scale");
  At(0).set_op_type("Sub");
  EXPECT_THAT(FirstLayer(), HasSubstr("Normalisation of the input, (x - mean) / std of each "
                                      "channel, is read where nothing else reads the input; "
                                      "elsewhere leave it out, and give import its mean and std"));
}

TEST_F(ImportPreprocessingTest, OtherConstantsAndOrdersAreNot) {
  First("Sub", {"mean", "x"}, "a");
  EXPECT_THAT(FirstLayer(), HasSubstr("computes with values of the network"));
  At(0).set_op_type("Div");
  EXPECT_THAT(FirstLayer(), HasSubstr("computes with values of the network"));
  At(0).set_input(0, "x"), At(0).set_input(1, "zero");
  EXPECT_THAT(FirstLayer(), HasSubstr("computes with values of the network"));
  At(0).set_op_type("Mul");
  EXPECT_EQ(FirstLayer(), "Scale") << "times 0";
  Tensor("image", {3, 5, 6});
  At(0).set_op_type("Add"), At(0).set_input(1, "image");
  EXPECT_EQ(FirstLayer(), "PositionEmbedding");
}

}  // namespace
}  // namespace dtnn
