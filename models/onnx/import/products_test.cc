#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/onnx/testing/import_fixture.h"

namespace dtnn {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST_F(ImportTest, AConstantIsABiasByOnnxsRuleOfShapes) {
  const onnx::ModelProto valid = onnx_;
  const std::tuple<std::vector<int64_t>, bool, bool> cases[] = {
      {{4, 1, 1}, false, true},   {{1, 4, 1, 1}, false, true}, {{4}, false, false},
      {{1, 1, 4}, false, false},  {{1, 4}, false, false},      {{1, 1, 4, 1, 1}, false, false},
      {{2, 2, 1}, false, false},  {{4}, true, true},           {{1, 1, 4}, true, true},
      {{1, 1, 1, 4}, true, true}, {{4, 1, 1}, true, false},    {{1, 4, 1, 1}, true, false},
  };
  for (const auto& [dims, channels_last, fits] : cases) {
    SCOPED_TRACE(::testing::PrintToString(dims) + (channels_last ? " last" : " first"));
    onnx_ = valid;
    Tensor("b", dims);
    int after = 0;
    if (channels_last) {
      Ints(Insert("Transpose", {"c"}), "perm", {0, 2, 3, 1});
      At(1).set_output(0, "last");
      after = 1;
    }
    Insert("Add", {"b", At(after).output(0)}, after);
    if (channels_last) {
      Ints(Insert("Transpose", {"new"}, 2), "perm", {0, 3, 1, 2});
      At(2).set_output(0, "sum");
      At(3).set_input(0, "sum");
    }
    if (fits) {
      EXPECT_EQ(Import().status(), absl::OkStatus());
    } else {
      EXPECT_THAT(Error(), HasSubstr("operator \"Add\"): adds a constant of shape "));
    }
  }
}

TEST_F(ImportTest, AProductsFactorsAreThoseOfItsParameters) {
  Tensor("b", {2});  // -2, -1
  At(3).add_input("b");
  for (const auto& [name, factor] : {std::pair("alpha", 2.0F), {"beta", 0.5F}}) {
    onnx::AttributeProto& attribute = *At(3).add_attribute();
    attribute.set_name(name);
    attribute.set_type(1);
    attribute.set_f(factor);
  }
  const auto imported = Import();
  ASSERT_EQ(imported.status(), absl::OkStatus());
  const auto values = [&](int parameter) {
    const auto value = imported->store->Value(4, parameter);
    return std::vector<float>(value.data<float>(), value.data<float>() + value.num_elements());
  };
  EXPECT_THAT(values(0), ElementsAre(-4, -2, 0, 2, 4, -4, -2, 0));
  EXPECT_THAT(values(1), ElementsAre(-1, -0.5F));
}

// Another name of a value is another way to read it.
TEST_F(ImportTest, WhatOthersReadTakesNoBias) {
  Tensor("b", {4, 1, 1});
  Insert("Identity", {"c"}).set_output(0, "i");
  Insert("Add", {"i", "b"}, 1).set_output(0, "z");
  At(3).set_input(0, "z");
  ASSERT_EQ(Import().status(), absl::OkStatus());
  Insert("Add", {"z", "c"}, 2);
  EXPECT_THAT(Error(), HasSubstr("node 2 (\"the_new\", operator \"Add\"): adds a constant"));
}

// As export names a layer that reads an image: it is joined only where nothing else reads it.
TEST_F(ImportTest, AFlattenThatOthersReadStays) {
  onnx::GraphProto& graph = *onnx_.mutable_graph();
  At(2).set_name("the_y.Flatten");
  ASSERT_EQ(Import()->model.graph.nodes().size(), 4U);
  Tensor("m2", {4, 3});
  Tensor("m3", {2, 3});
  At(3).set_input(0, "i");
  Node("Gemm", {"f", "m2"}, "u");
  Node("Gemm", {"y", "m3"}, "v");
  Node("Add", {"u", "v"}, "sum");
  Insert("Identity", {"f"}, 2).set_output(0, "i");
  At(5).set_input(0, "f");
  graph.mutable_output(0)->set_name("sum");
  const auto imported = Import();
  ASSERT_EQ(imported.status(), absl::OkStatus());
  std::vector<std::string> types;
  for (const auto& node : imported->model.graph.nodes())
    types.push_back(std::string(node.layer->type_name()));
  EXPECT_THAT(types, ::testing::ElementsAre("Input", "Conv2D", "AveragePool2D", "Flatten", "FC",
                                            "FC", "FC", "AdditionBlock"));
}

TEST_F(ImportTest, ANumberTimesAnImageIsNotTrained) {
  std::vector<std::string> notes;
  const auto layer = [&] {
    const auto imported = Import();
    EXPECT_EQ(imported.status(), absl::OkStatus());
    notes = imported.ok() ? imported->notes : std::vector<std::string>();
    return imported.ok() ? imported->model.graph.nodes()[2].layer : nullptr;
  };
  Tensor("third", {}).set_float_data(0, 0.3F);
  Insert("Mul", {"third", "c"});
  EXPECT_EQ(layer()->type_name(), "Scale");
  EXPECT_EQ(layer()->attributes(), (Attributes{{"factor", 0.3}}));
  EXPECT_EQ(notes, std::vector<std::string>{"Layer \"the_new\" multiplies by the number 0.3, which "
                                            "training does not change."});
  auto& third = *onnx_.mutable_graph()->mutable_initializer(2);
  third.add_dims(1);  // a parameter of one element, as SAGAN's gamma
  EXPECT_EQ(layer()->type_name(), "Conv2D");
  EXPECT_EQ(notes, std::vector<std::string>());
  for (int i = 0; i < 4; ++i) third.add_dims(1);
  EXPECT_THAT(Error(), HasSubstr("multiplies a constant of shape (1, 1, 1, 1, 1) with samples of "
                                 "(4, 4, 5); a factor has an element for each channel"));
}

// Whatever number of rows its shape has.
TEST_F(ImportTest, AMatrixWithoutElementsTakesNoTime) {
  Tensor("turned", {int64_t{1} << 40, 0});
  Ints(Insert("Transpose", {"turned"}, 2), "perm", {1, 0});
  At(3).set_output(0, "matrix");
  At(4).set_input(0, "f");
  At(4).set_input(1, "matrix");
  EXPECT_THAT(Error(), HasSubstr("its weights have shape (0, 1099511627776), but its input has"));
}

// As ConvNeXt has them: a product of each pixel and its bias, and a factor for each channel.
TEST_F(ImportTest, ProductsOfPixelsAreConvolutions) {
  Tensor("turned", {6, 4});
  Tensor("bias", {6});
  Tensor("scale", {6, 1, 1});
  Tensor("last", {6, 2});
  Ints(Insert("Transpose", {"turned"}), "perm", {1, 0});
  At(1).set_output(0, "matrix");
  Ints(Insert("Transpose", {"c"}, 1), "perm", {0, 2, 3, 1});
  At(2).set_output(0, "pixels");
  Insert("MatMul", {"pixels", "matrix"}, 2).set_output(0, "product");
  Insert("Add", {"bias", "product"}, 3).set_output(0, "sum");
  Ints(Insert("Transpose", {"sum"}, 4), "perm", {0, 3, 1, 2});
  At(5).set_output(0, "back");
  Insert("Mul", {"scale", "back"}, 5);
  At(7).set_input(0, "new");
  At(9).set_input(1, "last");
  const auto imported = Import();
  ASSERT_EQ(imported.status(), absl::OkStatus());
  const auto& nodes = imported->model.graph.nodes();
  ASSERT_EQ(nodes.size(), 7U);
  EXPECT_EQ(nodes[2].parameters.size(), 2U);
  EXPECT_EQ(nodes[2].output, Shape({4, 5, 6}));
  EXPECT_EQ(nodes[3].layer->type_name(), "Conv2D");
  EXPECT_EQ(nodes[3].parameters[0].shape.NumElements(), 6);

  At(6).set_input(1, "sum");  // one number per column
  EXPECT_THAT(Error(), HasSubstr("operator \"Mul\"): multiplies a constant of shape (6, 1, 1) with "
                                 "samples of (6, 4, 5); a factor has an element"));
  At(3).set_input(0, "c");
  EXPECT_THAT(Error(), HasSubstr("multiplies the columns of an image of (4, 4, 5)"));
  At(1).mutable_attribute(0)->set_ints(0, 0);
  At(1).mutable_attribute(0)->set_ints(1, 1);
  EXPECT_THAT(Error(), HasSubstr("transposes a constant of shape (6, 4)"));
}

}  // namespace
}  // namespace dtnn
