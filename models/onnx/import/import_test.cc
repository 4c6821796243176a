#include "models/onnx/import/import.h"

#include <sys/resource.h>

#include <cmath>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "data/testing/idx_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/onnx/file/onnx_file.h"
#include "models/onnx/testing/answers.h"
#include "tensor/files/npy.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kFolder[] = "models/onnx/import/testdata/";

// Files of other programs, and what ONNX Runtime answers (testdata/make_models.py).
class StoredModelTest : public ::testing::TestWithParam<std::tuple<const char*, TensorFormat>> {};
INSTANTIATE_TEST_SUITE_P(
    Networks, StoredModelTest,
    ::testing::Combine(::testing::Values("resnet", "vgg", "mobilenet_v2", "squeezenet", "densenet",
                                         "googlenet", "dynamo", "tensorflow", "activations", "unet",
                                         "shufflenet", "convnext"),
                       ::testing::Values(TensorFormat::kNHWC, TensorFormat::kNCHW)),
    [](const auto& info) {
      return std::string(std::get<0>(info.param)) + std::string(Name(std::get<1>(info.param)));
    });

TEST_P(StoredModelTest, AnswersAreThoseOfOnnxRuntime) {
  const auto& [name, format] = GetParam();
  // Where tests run, files are links, which a model's data must not be.
  const std::string folder = testing::NewFolder("import"),
                    path = StrCat(folder, "/", name, ".onnx");
  for (const char* ending : {".onnx", ".onnx.data"}) {
    std::error_code missing;
    std::filesystem::copy_file(StrCat(kFolder, name, ending), StrCat(folder, "/", name, ending),
                               missing);
  }
  const auto onnx = ReadOnnx(path);
  ASSERT_TRUE(onnx.ok()) << onnx.status();
  auto host = *DeviceContext::Create(Device::Cpu());
  const auto imported = ImportModel(*onnx, path, *host, {.format = format});
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_EQ(imported->notes, std::vector<std::string>());
  EXPECT_EQ(imported->model.graph.format(), format);
  const Tensor expected = *ReadNpy(StrCat(kFolder, name, ".npy"));
  const Tensor x =
      testing::CountedSamples(imported->model.graph, 2, std::string_view(name) != "tensorflow");
  const std::vector<float> y =
      testing::Answers(imported->model, *imported->store, *host, folder + "/model.safetensors", x);
  ASSERT_EQ(int64_t(y.size()), expected.num_elements());
  for (size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(y[i], expected.data<float>()[i], 1e-5) << i;
}

// In float32 too: what rounds to bytes from 0 on is a relu.
TEST(Int8ModelTest, AnswersAreThoseOfOnnxRuntime) {
  const std::string path = StrCat(kFolder, "resnet_int8.onnx");
  auto host = *DeviceContext::Create(Device::Cpu());
  const auto imported = ImportModel(*ReadOnnx(path), path, *host);
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_EQ(imported->notes, std::vector<std::string>());
  const Tensor x = testing::CountedSamples(imported->model.graph, 2, /*channels_first=*/true);
  const Tensor expected = *ReadNpy(StrCat(kFolder, "resnet_int8.npy"));
  for (const bool int8 : {false, true}) {
    const std::vector<float> y =
        testing::Answers(imported->model, *imported->store, *host,
                         testing::NewFolder("import") + "/model.safetensors", x, int8);
    ASSERT_EQ(int64_t(y.size()), expected.num_elements());
    for (size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(y[i], expected.data<float>()[i], 0.005) << i;
  }
}

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

TEST_F(ImportTest, AShapeThatOnlyFlattensIsFolded) {
  onnx::GraphProto& graph = *onnx_.mutable_graph();
  graph.mutable_node()->DeleteSubrange(2, 2);
  Integers("zero", {0});
  Integers("minus", {-1});
  graph.mutable_initializer(2)->clear_dims();
  Node("Shape", {"p"}, "s");
  Node("Gather", {"s", "zero"}, "n");
  Ints(Node("Unsqueeze", {"n"}, "n1"), "axes", {0});
  Int(Node("Concat", {"n1", "minus"}, "wanted"), "axis", 0);
  Node("Reshape", {"p", "wanted"}, "f");
  Node("Gemm", {"f", "m"}, "y");
  const auto imported = Import();
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_EQ(imported->model.graph.nodes().size(), 5U);
}

TEST_F(ImportTest, ArithmeticOfShapesHasLimits) {
  const onnx::ModelProto valid = onnx_;
  const auto error = [&](const char* type, const std::vector<int64_t>& a,
                         const std::vector<int64_t>& b) {
    onnx_ = valid;
    onnx_.mutable_graph()->mutable_node()->DeleteSubrange(2, 2);
    Integers("zero", {0});
    onnx_.mutable_graph()->mutable_initializer(2)->clear_dims();
    Integers("a", a);
    Integers("b", b);
    Node("Shape", {"p"}, "s");
    Node("Gather", {"s", "zero"}, "n");
    Ints(Node("Unsqueeze", {"n"}, "n1"), "axes", {0});
    Node(type, {"a", "b"}, "rest");
    Int(Node("Concat", {"n1", "rest"}, "wanted"), "axis", 0);
    Node("Reshape", {"p", "wanted"}, "f");
    Node("Gemm", {"f", "m"}, "y");
    return Error();
  };
  constexpr int64_t kMost = int64_t{1} << 40, kSide = 1 << 20;
  EXPECT_EQ(error("Sub", {kMost - 1}, {kMost}), "");
  EXPECT_EQ(error("Add", {-kMost}, {kMost - 1}), "");
  EXPECT_EQ(error("Div", {-kMost}, {kMost}), "");
  EXPECT_THAT(error("Sub", {kMost}, {kMost + 1}), HasSubstr("has numbers above 2^40"));
  EXPECT_THAT(error("Add", {-kMost - 1}, {kMost}), HasSubstr("has numbers above 2^40"));
  EXPECT_THAT(error("Mul", {kSide}, {kSide}), Not(HasSubstr("2^40")));
  EXPECT_THAT(error("Mul", {kSide + 1}, {kSide}), HasSubstr("is not a number up to 2^40"));
  EXPECT_THAT(error("Div", {1}, {0}), HasSubstr("of 1 and 0 is not a number"));
  for (const auto& [a, b] :
       {std::pair(std::vector<int64_t>{1, 1}, std::vector<int64_t>{1, 1, 1}),
        std::pair(std::vector<int64_t>{1, 1, 1}, std::vector<int64_t>{1, 1})}) {
    EXPECT_THAT(error("Mul", a, b), HasSubstr("has inputs of different sizes"));
  }
  // A shape of 64 axes is one, if for no layer.
  const std::vector<int64_t> ones(63, 1), more(64, 1);
  EXPECT_THAT(error("Mul", ones, {1}), Not(HasSubstr("not a shape")));
  EXPECT_THAT(error("Mul", more, {1}), HasSubstr("joins constants that are not a shape"));
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

TEST_F(ImportTest, WhatNoLayerComputesIsNamedWithItsNode) {
  Insert("Mish", {"c"});
  EXPECT_THAT(Error(), HasSubstr("net.onnx: node 1 (\"the_new\", operator \"Mish\"): no layer "
                                 "computes it; the operators that are read are Add, "));
  At(1).set_op_type("LeakyRelu");
  onnx::AttributeProto& alpha = *At(1).add_attribute();
  alpha.set_name("alpha");
  alpha.set_f(0.5F);
  EXPECT_THAT(Error(), HasSubstr("its attribute \"alpha\" is 0.5; the layer has 0.01"));
  alpha.set_f(0.01F);
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

// The convolution makes 4 channels of 4 x 5 pixels.
TEST_F(ImportTest, AChannelShuffleIsThreeOperators) {
  Integers("groups", {0, 2, -1, 4, 5});
  Integers("back", {-1, 4, 4, 5});
  Insert("Reshape", {"c", "groups"}).set_output(0, "g");
  Insert("Transpose", {"g"}, 1).set_output(0, "t");
  Ints(At(2), "perm", {0, 2, 1, 3, 4});
  Insert("Reshape", {"t", "back"}, 2);
  const auto imported = Import();
  ASSERT_EQ(imported.status(), absl::OkStatus());
  const auto& shuffle = imported->model.graph.nodes()[2];
  EXPECT_EQ(shuffle.layer->type_name(), "ChannelShuffle");
  EXPECT_EQ(shuffle.layer->attributes(), (Attributes{{"groups", int64_t{2}}}));

  onnx::TensorProto& groups = *onnx_.mutable_graph()->mutable_initializer(2);
  groups.set_int64_data(1, 3);
  EXPECT_THAT(Error(), HasSubstr("reshapes samples of (4, 4, 5) to 4 axes that are not groups, "
                                 "channels of a group, height and width"));
  groups.set_int64_data(1, -1);
  EXPECT_NE(Import().status(), absl::OkStatus());  // -1 stands twice
  groups.set_int64_data(1, 2);
  groups.set_int64_data(3, 5);
  EXPECT_NE(Import().status(), absl::OkStatus());
  groups.set_int64_data(3, 4);
  At(2).mutable_attribute(0)->set_ints(3, 4);
  At(2).mutable_attribute(0)->set_ints(4, 3);
  EXPECT_THAT(Error(), HasSubstr("transposes other than"));
  At(2).mutable_attribute(0)->set_ints(3, 3);
  At(2).mutable_attribute(0)->set_ints(4, 4);
  At(3).set_input(0, "g");
  EXPECT_THAT(Error(), HasSubstr("is a step of -Softplus(-x)"));
  At(3).set_input(0, "t");
  onnx_.mutable_graph()->mutable_initializer(3)->set_int64_data(1, 2);
  EXPECT_THAT(Error(), HasSubstr("does not reshape the groups of channels"));
}

TEST_F(ImportTest, ChannelsAreSplitAndSliced) {
  Integers("begin", {-3});
  Integers("end", {INT64_MAX});
  Integers("axis", {1});
  Int(Insert("Concat", {"b", "a", "s"}), "axis", 1);
  Insert("Split", {"c"}).set_output(0, "a");
  Insert("Slice", {"c", "begin", "end", "axis"}).set_output(0, "s");
  onnx::NodeProto& split = At(2);
  split.set_input(0, "c");
  split.add_output("b");
  split.add_output("unused");
  Int(split, "axis", 1);
  Ints(split, "split", {1, 2, 1});
  Tensor("wide", {6, 2});
  At(6).set_input(1, "wide");
  const auto imported = Import();
  ASSERT_EQ(imported.status(), absl::OkStatus());
  std::vector<std::string> slices;
  for (const auto& node : imported->model.graph.nodes()) {
    if (node.layer->type_name() == "ChannelSlice") slices.push_back(node.layer->SettingsCell());
  }
  EXPECT_THAT(slices,
              ::testing::ElementsAre("channels 1 to 3", "channels 0 to 0", "channels 1 to 2"));
}

TEST_F(ImportTest, PartsOfTheChannelsAreChecked) {
  onnx::NodeProto& split = Insert("Split", {"c"});
  split.add_output("rest");
  Int(split, "axis", 2);
  EXPECT_THAT(Error(), HasSubstr("divides axis 2 of samples of (4, 4, 5); only channels of images "
                                 "are divided"));
  split.mutable_attribute(0)->set_i(1);
  Ints(split, "split", {1, 2});
  EXPECT_THAT(Error(), HasSubstr("splits 4 channels into 2 parts whose sizes do not add up"));
  split.mutable_attribute(1)->set_ints(0, INT64_MAX);
  EXPECT_THAT(Error(), HasSubstr("do not add up"));
  split.mutable_attribute(1)->set_ints(0, 5);
  split.mutable_attribute(1)->set_ints(1, -1);
  EXPECT_THAT(Error(), HasSubstr("do not add up"));
  split.clear_attribute();
  split.mutable_output()->RemoveLast();
  split.set_op_type("Slice");
  Integers("two", {2});
  Integers("one", {1});
  for (const char* input : {"two", "two", "one"}) split.add_input(input);
  EXPECT_THAT(Error(), HasSubstr("takes no channel of an image of (4, 4, 5)"));
  split.set_input(3, "two");
  EXPECT_THAT(Error(), HasSubstr("divides axis 2"));
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

// A padded image of 6 x 8 takes no more zeros under strides of 2, where 5 rows would take one: the
// kernel has zeros for the padding before the image alone, and is 3 x 4.
TEST_F(ImportTest, SameCountsThePaddingBefore) {
  Ints(At(0), "strides", {2, 2});
  onnx::AttributeProto& rule = *At(0).add_attribute();
  rule.set_name("auto_pad");
  rule.set_s("SAME_UPPER");
  Integers("pads", {0, 0, 1, 2, 0, 0, 0, 0});
  At(0).set_input(0, "padded");
  Insert("Pad", {"x", "pads"});
  onnx_.mutable_graph()->mutable_node()->SwapElements(0, 1);
  At(0).set_output(0, "padded");
  At(2).set_input(0, "c");
  const auto imported = Import();
  ASSERT_EQ(imported.status(), absl::OkStatus());
  EXPECT_EQ(imported->store->Value(1, 0).num_elements(), 4 * 3 * 3 * 4);
}

// Rounded up, a fourth window of 3 would begin right after the 5 columns and the padding before
// them: it does not count, and paddings of 1 on both sides make the same three.
TEST_F(ImportTest, AWindowThatBeginsAfterTheImageDoesNotCount) {
  onnx::NodeProto& pool = Insert("MaxPool", {"c"});
  Ints(pool, "kernel_shape", {1, 3});
  Ints(pool, "strides", {1, 2});
  Ints(pool, "pads", {0, 1, 0, 2});
  Int(pool, "ceil_mode", 1);
  const auto imported = Import({.format = TensorFormat::kNCHW});
  ASSERT_EQ(imported.status(), absl::OkStatus());
  EXPECT_EQ(imported->model.graph.nodes()[2].output, Shape({4, 4, 3}));
}

// 4 MB of bytes, which take 32 MB when they are read, under 50 names.
TEST_F(ImportTest, AConstantIsSharedByItsNames) {
  constexpr int64_t kBytes = 1 << 22;
  onnx::TensorProto& tensor = Tensor("k0", {0});
  tensor.set_data_type(3);
  tensor.set_dims(0, kBytes);
  tensor.set_raw_data(std::string(size_t(kBytes), 1));
  Node("Cast", {"k0"}, "k1");
  Int(At(4), "to", 7);
  for (int i = 1; i < 50; ++i) Node("Identity", {StrCat("k", i)}, StrCat("k", i + 1));
  Node("MatMul", {"f", "k50"}, "last");
  onnx_.mutable_graph()->mutable_output(0)->set_name("last");
  const auto peak = [] {
    rusage usage = {};
    getrusage(RUSAGE_SELF, &usage);
    return int64_t(usage.ru_maxrss) * 1024;
  };
  const int64_t before = peak();
  EXPECT_THAT(Error(), HasSubstr("its weights have shape (4194304)"));
  EXPECT_LT(peak() - before, 16 * 8 * kBytes);
}

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

TEST_F(ImportTest, MeansMayCountPadding) {
  onnx::NodeProto& pool = Insert("AveragePool", {"c"});
  Ints(pool, "kernel_shape", {3, 3});
  Ints(pool, "pads", {1, 1, 1, 1});
  const auto settings = [&] { return Import()->model.graph.nodes()[2].layer->SettingsCell(); };
  EXPECT_THAT(settings(), Not(HasSubstr("counts padding")));
  Int(pool, "count_include_pad", 1);
  EXPECT_THAT(settings(), HasSubstr("counts padding"));
  pool.mutable_attribute(1)->set_ints(2, 0);
  EXPECT_THAT(Error(), HasSubstr("is 1, and its paddings differ from side to side"));
  for (int side : {0, 1, 3}) pool.mutable_attribute(1)->set_ints(side, 0);
  EXPECT_THAT(settings(), Not(HasSubstr("counts padding")));
}

TEST_F(ImportTest, TransposedConvolutionsAreChecked) {
  Tensor("t", {4, 1, 2, 2});
  Tensor("three", {3, 1, 2, 2});
  onnx::NodeProto& node = Insert("ConvTranspose", {"c", "t"});
  const auto made = [&] {
    const auto model = Import();
    return model.ok() ? model->model.graph.nodes()[2].layer->SettingsCell()
                      : std::string(model.status().message());
  };
  Int(node, "group", 4);
  Ints(node, "strides", {2, 2});
  EXPECT_EQ(made(), "padd=(0,0), stride=(2,2), dilat=(1,1), groups=4");
  Ints(node, "pads", {1, 0, 0, 0});  // a row less at the end is one more
  EXPECT_EQ(made(), "padd=(1,0), stride=(2,2), dilat=(1,1), output_padding=(1, 0), groups=4");
  node.mutable_attribute(2)->set_ints(2, 2);
  EXPECT_THAT(made(), HasSubstr("its pads after the image differ from those before it by more"));
  node.mutable_attribute(2)->set_ints(2, 1);
  Ints(node, "output_padding", {INT64_MAX, 0});
  EXPECT_THAT(made(), HasSubstr("its output_padding is not from 0 to the stride"));
  node.mutable_attribute()->RemoveLast();
  Ints(node, "output_shape", {8, 10});
  EXPECT_THAT(made(), HasSubstr("has an attribute \"output_shape\" or \"auto_pad\""));
  node.mutable_attribute()->RemoveLast();
  Text(node, "auto_pad", "SAME_UPPER");
  EXPECT_THAT(made(), HasSubstr("has an attribute \"output_shape\" or \"auto_pad\""));
  node.mutable_attribute()->RemoveLast();
  node.mutable_attribute(0)->set_i(int64_t{1} << 62);
  EXPECT_THAT(made(), HasSubstr("its weights of (4, 1, 2, 2) and 4611686018427387904 groups do "
                                "not fit an image of 4 channels"));
  node.mutable_attribute(0)->set_i(3);
  EXPECT_THAT(made(), HasSubstr("groups"));
  node.mutable_attribute(0)->set_i(0);
  EXPECT_THAT(made(), HasSubstr("and 0 groups do not fit"));
  node.mutable_attribute(0)->set_i(1);
  node.set_input(1, "three");
  EXPECT_THAT(made(), HasSubstr("its weights of (3, 1, 2, 2) and 1 groups do not fit"));
}

TEST_F(ImportTest, ImagesAreMadeLargerByWholeFactors) {
  const auto scales = [&](const std::string& name, const std::vector<float>& values) {
    onnx::TensorProto& tensor = Tensor(name, {int64_t(values.size())});
    for (size_t i = 0; i < values.size(); ++i) tensor.set_float_data(int(i), values[i]);
  };
  const auto imported = [&] {
    const auto model = Import();
    if (!model.ok()) return std::string(model.status().message());
    for (const auto& node : model->model.graph.nodes()) {
      if (node.layer->type_name() == "Upsample2D") return node.layer->SettingsCell();
    }
    return std::string("none");
  };
  scales("twice", {1, 1, 2, 3});
  scales("half", {1, 1, 0.5, 1});
  scales("batch", {2, 1, 2, 2});
  Integers("sizes", {1, 4, 8, 5});  // of images of 4 x 5
  Integers("odd", {1, 4, 6, 5});
  scales("none", {});
  onnx::NodeProto& node = Insert("Resize", {"c", "none", "twice"});
  EXPECT_EQ(imported(), "scale=(2, 3), nearest");
  Text(node, "mode", "linear");
  EXPECT_EQ(imported(), "scale=(2, 3), bilinear");
  Text(node, "coordinate_transformation_mode", "align_corners");
  EXPECT_EQ(imported(), "scale=(2, 3), bilinear, align_corners");
  node.mutable_attribute(1)->set_s("asymmetric");
  EXPECT_THAT(imported(), HasSubstr("are \"linear\", \"asymmetric\" and \"round_prefer_floor\"; "
                                    "layers have what Upsample("));
  node.mutable_attribute(0)->set_s("nearest");
  EXPECT_THAT(imported(), HasSubstr("are \"nearest\", \"asymmetric\" and"));
  Text(node, "nearest_mode", "floor");
  EXPECT_EQ(imported(), "scale=(2, 3), nearest");
  node.mutable_attribute(1)->set_s("half_pixel");
  EXPECT_THAT(imported(), HasSubstr("and \"floor\"; layers"));
  node.mutable_attribute(1)->set_s("asymmetric");
  node.set_input(2, "half");
  EXPECT_THAT(imported(), HasSubstr("resizes images of (4, 4, 5) by other factors than whole "
                                    "numbers along height and width"));
  node.set_input(2, "batch");
  EXPECT_THAT(imported(), HasSubstr("by other factors"));
  node.set_input(2, "");
  node.add_input("sizes");
  EXPECT_EQ(imported(), "scale=(2, 1), nearest");
  node.set_input(3, "odd");
  EXPECT_THAT(imported(), HasSubstr("by other factors"));
  Int(node, "antialias", 1);
  EXPECT_THAT(imported(), HasSubstr("its attribute \"antialias\" is not 0"));
  node.clear_attribute();
  node.clear_input();
  node.add_input("c");
  node.add_input("twice");
  EXPECT_EQ(imported(), "scale=(2, 3), nearest");
  node.set_op_type("Upsample");
  EXPECT_EQ(imported(), "scale=(2, 3), nearest");
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
      {[](auto& g) { g.mutable_initializer(0)->set_data_type(8); }, "elements of type 8"},
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
  EXPECT_THAT(Error({.sample = ImageExtents{7, 9, 4}}), HasSubstr("another number"));
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
