#include "models/torch/torch_weights.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "data/testing/idx_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/graph/builder.h"
#include "models/onnx/testing/answers.h"
#include "models/parameters/in_format.h"
#include "models/torch/torch_file.h"
#include "models/zoo/convnext.h"
#include "models/zoo/densenet.h"
#include "models/zoo/googlenet.h"
#include "models/zoo/inverted_residual.h"
#include "models/zoo/resnet.h"
#include "models/zoo/shufflenet.h"
#include "models/zoo/vgg.h"
#include "tensor/files/npy.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kFolder[] = "models/torch/testdata/";

// As testdata/make_weights.py has them.
Graph Network(const std::string& name, int64_t outputs = 0) {
  GraphBuilder b(name, TensorFormat::kNCHW);
  if (name == "resnet") {
    b.Input({21, 18, 3});
    AppendResNet(b,
                 {.block = ResNetBlock::kBottleneck,
                  .blocks = {1, 1},
                  .width = 2,
                  .stem = ResNetStem::kConv7Relu,
                  .project_first_stage = true},
                 outputs > 0 ? outputs : 5);
  } else if (name == "convnext") {
    b.Input({20, 17, 3});
    AppendConvNext(b, {.blocks = {1, 2}, .width = 4}, 5);
  } else if (name == "shufflenet") {
    b.Input({35, 37, 3});
    AppendShuffleNet(b, {.stem = 4, .blocks = {2, 1, 1}, .widths = {6, 8, 12}, .last = 10}, 4);
  } else if (name == "densenet") {
    b.Input({34, 39, 3});
    AppendDenseNet(
        b, {.growth = 4, .blocks = {2, 3}, .stem = DenseNetStem::kConv7, .inputs_first = true}, 5);
  } else if (name == "googlenet") {
    b.Input({65, 70, 3});
    AppendTorchvisionGoogLeNet(b, /*small_images=*/false, /*width_divisor=*/16, 4);
  } else if (name == "timm_convnext") {
    b.Input({36, 33, 3});
    AppendConvNext(b, {.blocks = {1, 2, 1, 1}, .width = 4}, 5);
  } else if (name == "timm_efficientnet") {
    const InvertedResidual block = {.activation = ActivationKind::kSilu,
                                    .squeeze = ActivationKind::kSilu,
                                    .gate = ActivationKind::kSigmoid};
    InvertedResidualNet net = {.stem = 8, .last = 16, .activation = ActivationKind::kSilu};
    net.blocks.assign(3, block);
    const auto set = [&](size_t i, int64_t inputs, int64_t expanded, int64_t outputs) {
      net.blocks[i].inputs = inputs, net.blocks[i].expanded = expanded;
      net.blocks[i].outputs = outputs, net.blocks[i].squeezed = inputs / 4;
    };
    set(0, 8, 8, 8), set(1, 8, 48, 16), set(2, 16, 96, 16);
    net.blocks[1].stride = 2, net.blocks[1].kernel = net.blocks[2].kernel = 5;
    b.Input({21, 18, 3});
    AppendInvertedResiduals(b, net, 5);
  } else if (name == "vgg_bn") {
    b.Input({12, 8, 3});
    AppendVgg(b, {.groups = {{1, 4}, {2, 5}}, .hidden = 7, .batch_norm = true, .plain_head = true},
              4);
  } else if (name == "decoder") {
    b.Input({9, 7, 3}).Conv2d(4, {.stride = 2}).Relu();
    b.TransposedConv2d(6, {.stride = 2, .padding = 1, .output_padding = 1, .groups = 2}).Relu();
    b.TransposedConv2d(4, {.kernel = 2, .stride = 2, .bias = false}).Relu();
    b.Conv2d(2, {.kernel = 1}).Flatten().Fc(3);
  } else {
    b.Input({12, 8, 3});
    AppendVgg(b, {.groups = {{1, 4}, {2, 5}}, .hidden = 7}, outputs > 0 ? outputs : 4);
  }
  return *b.Build();
}

class TorchWeightsTest : public ::testing::Test {
 protected:
  absl::StatusOr<MatchedWeights> Fill(const Graph& graph, const std::string& file,
                                      bool partial = false) {
    store_ = *ParameterStore::Create(graph, *host_, DType::kFloat32, /*seed=*/3);
    const auto weights = ReadTorchFile(kFolder + file);
    if (!weights.ok()) return weights.status();
    return FillFromTorch(*weights, graph, *store_,
                         {.partial = partial, .by_names = !IsTorchFileName(file)});
  }

  std::unique_ptr<DeviceContext> host_ = *DeviceContext::Create(Device::Cpu());
  std::unique_ptr<ParameterStore> store_;
};

TEST_F(TorchWeightsTest, AnswersAreThoseOfPyTorch) {
  const std::set<std::string> names_alone = {"vgg_bn", "densenet", "googlenet", "timm_efficientnet",
                                             "timm_convnext"};
  for (const std::string name : {"resnet", "vgg", "convnext", "shufflenet", "decoder", "vgg_bn",
                                 "densenet", "googlenet", "timm_efficientnet", "timm_convnext"}) {
    for (const std::string ending : {".pth", ".safetensors"}) {
      if (ending == ".pth" && names_alone.contains(name)) continue;
      SCOPED_TRACE(name + ending);
      const Graph graph = Network(name);
      const auto matched = Fill(graph, name + ending);
      ASSERT_TRUE(matched.ok()) << matched.status();
      std::vector<std::string> differing;
      if (name == "googlenet") differing = {"skips aux1, aux2: heads that only training has"};
      EXPECT_EQ(matched->differing, differing);
      const NetworkInFormat made =
          *InFormat(graph, *store_, *host_, TensorFormat::kNHWC, DType::kFloat32);
      const Tensor x = testing::CountedSamples(made.graph, 2, /*channels_first=*/true);
      const std::vector<float> y =
          testing::Answers({.graph = made.graph}, *made.store, *host_,
                           testing::NewFolder("torch") + "/model.safetensors", x);
      const Tensor expected = *ReadNpy(StrCat(kFolder, name, ".npy"));
      ASSERT_EQ(int64_t(y.size()), expected.num_elements());
      for (size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(y[i], expected.data<float>()[i], 1e-5);
    }
  }
}

TEST_F(TorchWeightsTest, ALastLayerForOtherClassesKeepsItsValues) {
  const Graph graph = Network("resnet", 6);
  EXPECT_THAT(std::string(Fill(graph, "resnet.pth").status().message()),
              HasSubstr("\"fc.weight\" has shape (5, 16), but layer "));
  const auto fresh = *ParameterStore::Create(graph, *host_, DType::kFloat32, /*seed=*/3);
  const size_t bytes = fresh->bytes();
  EXPECT_EQ(std::memcmp(store_->all_values().raw_data(), fresh->all_values().raw_data(), bytes), 0)
      << "nothing changes when something is wrong";
  const auto matched = Fill(graph, "resnet.pth", /*partial=*/true);
  ASSERT_TRUE(matched.ok()) << matched.status();
  EXPECT_EQ(matched->layers, 18);
  ASSERT_EQ(matched->differing.size(), 1U);
  EXPECT_THAT(matched->differing[0], HasSubstr("keeps its initial values"));
  const int last = int(graph.nodes().size()) - 1;
  EXPECT_EQ(std::memcmp(store_->Value(last, 0).raw_data(), fresh->Value(last, 0).raw_data(),
                        16 * 6 * sizeof(float)),
            0);
}

TEST_F(TorchWeightsTest, OtherStructuresAreNamed) {
  EXPECT_THAT(std::string(Fill(Network("vgg"), "resnet.pth", /*partial=*/true).status().message()),
              HasSubstr("network vgg has no layer for \"bn1\" (BatchNormalization), "));
  EXPECT_EQ(OutputsOf(*ReadTorchFile(StrCat(kFolder, "vgg.pth")), /*by_names=*/false), 4);
}

// Not only the first, and not thousands.
TEST_F(TorchWeightsTest, AllThatDiffersIsNamed) {
  const auto error = [&](const std::vector<std::pair<std::string, Shape>>& arrays,
                         const std::vector<int64_t>& filters) {
    GraphBuilder b("net", TensorFormat::kNCHW);
    b.Input({4, 4, 2});
    for (const int64_t count : filters) b.Conv2d(count, {.padding = 1, .bias = false});
    const Graph graph = *b.BatchNorm().Build();
    NamedTensors weights;
    for (const auto& [name, shape] : arrays) {
      weights.emplace_back(name, *Tensor::Zeros(DType::kFloat32, shape));
    }
    store_ = *ParameterStore::Create(graph, *host_, DType::kFloat32, /*seed=*/3);
    return std::string(FillFromTorch(weights, graph, *store_).status().message());
  };
  const std::vector<std::pair<std::string, Shape>> norm = {{"n.weight", Shape{2}},
                                                           {"n.bias", Shape{2}},
                                                           {"n.running_mean", Shape{2}},
                                                           {"n.running_var", Shape{2}}};
  const auto with_norm = [&](std::vector<std::pair<std::string, Shape>> arrays) {
    arrays.insert(arrays.end(), norm.begin(), norm.end());
    return arrays;
  };
  const Shape fits = {2, 2, 3, 3};
  EXPECT_EQ(error(with_norm({{"a.weight", fits}, {"b.weight", fits}}), {2, 2}), "");
  EXPECT_EQ(error(with_norm({{"a.weight", {2, 3, 3, 3}}, {"b.weight", {4, 2, 3, 3}}}), {2, 2}),
            "\"a.weight\" has shape (2, 3, 3, 3), but layer 1 (Conv2D) has (2, 2, 3, 3); "
            "\"b.weight\" has "
            "shape (4, 2, 3, 3), but layer 2 (Conv2D) has (2, 2, 3, 3)");
  // A module of another kind in between does not shift what follows.
  EXPECT_EQ(
      error(with_norm({{"a.weight", fits},
                       {"fc1.weight", {2, 2}},
                       {"fc2.weight", {3, 2}},
                       {"fc2.bias", {3}},
                       {"b.weight", {3, 2, 3, 3}}}),
            {2, 2}),
      "\"b.weight\" has shape (3, 2, 3, 3), but layer 2 (Conv2D) has (2, 2, 3, 3); network net has "
      "no layer for \"fc1\" (FC), \"fc2\" (FC); the structures differ");
  EXPECT_EQ(error({{"b.weight", fits}}, {2, 2}),
            "the file has no module for layer 2 (Conv2D), layer 3 (BatchNormalization) of network "
            "net; the structures differ");
  std::vector<std::pair<std::string, Shape>> many, larger;
  for (int i = 1; i <= 22; ++i) {
    many.emplace_back(StrCat("m", i, ".weight"), Shape{2});
    larger.emplace_back(StrCat("m", i, ".weight"), Shape{2, 3, 3, 3});
  }
  EXPECT_THAT(error(with_norm(many), {}),
              AllOf(HasSubstr("no layer for \"m1\" (PRelu), "),
                    HasSubstr("\"m20\" (PRelu) and 2 more; the structures differ"),
                    Not(HasSubstr("\"m21\""))));
  EXPECT_THAT(error(with_norm(larger), std::vector<int64_t>(22, 2)),
              AllOf(HasSubstr("; \"m20.weight\" has shape (2, 3, 3, 3), but layer 20 (Conv2D) has "
                              "(2, 2, 3, 3) and 2 more"),
                    Not(HasSubstr("\"m21.weight"))));
  EXPECT_THAT(error(norm, std::vector<int64_t>(23, 2)),
              HasSubstr("layer 20 (Conv2D) and 3 more of network net; the structures differ"));
}

// (in, out, height, width) where a convolution has (out, in, height, width).
TEST_F(TorchWeightsTest, TheNetworkSaysWhichConvolutionsAreTransposed) {
  const auto fill = [&](bool transposed) {
    GraphBuilder b("net", TensorFormat::kNCHW);
    b.Input({4, 4, 3}).Conv2d(4, {.stride = 2});
    transposed ? b.TransposedConv2d(6, {.stride = 2, .padding = 1, .output_padding = 1})
               : b.Conv2d(6, {.kernel = 1});
    return std::string(Fill(*b.Build(), "decoder.pth").status().message());
  };
  EXPECT_THAT(fill(true), HasSubstr("\"2.weight\" has shape (4, 3, 3, 3), but layer 2 "
                                    "(TransposedConv2D) has (4, 6, 3, 3)"));
  EXPECT_THAT(fill(false), HasSubstr("\"2.weight\" has shape (4, 3, 3, 3), but layer 2 (Conv2D) "
                                     "has (6, 4, 1, 1)"));
}

// Where modules have the same shape, the wrong order would be a wrong network without an error.
TEST_F(TorchWeightsTest, NamesThatDoNotTellTheOrderAreRefused) {
  GraphBuilder b("net", TensorFormat::kNCHW);
  b.Input({1, 1, 1})
      .Conv2d(1, {.kernel = 1, .bias = false})
      .Conv2d(1, {.kernel = 1, .bias = false});
  const Graph graph = *b.Build();
  store_ = *ParameterStore::Create(graph, *host_, DType::kFloat32, /*seed=*/3);
  const auto fill = [&](const std::string& one, const std::string& two, bool by_names) {
    NamedTensors weights;
    for (const auto& [name, value] : {std::pair(one, 1.0F), std::pair(two, 2.0F)}) {
      Tensor tensor = *Tensor::Zeros(DType::kFloat32, {1, 1, 1, 1});
      tensor.data<float>()[0] = value;
      weights.emplace_back(name + ".weight", tensor);
    }
    const auto matched = FillFromTorch(weights, graph, *store_, {.by_names = by_names});
    return matched.ok() ? *store_->Value(1, 0).data<float>() : 0;  // of which comes first
  };
  EXPECT_EQ(fill("block1-10.a", "block1-9.a", true), 2);
  EXPECT_EQ(fill("block1-10.a", "block1-9.a", false), 1);
  EXPECT_EQ(fill("x.downsample", "x.conv2", true), 2);
  EXPECT_EQ(fill("layer1.0.downsample.0", "layer1.0.blocks.0", true), 2) << "not of timm";
  EXPECT_EQ(fill("layer1.conv_reduce", "layer1.conv_expand", true), 0) << "not of timm";
  EXPECT_EQ(fill("conv6", "conv5", true), 2);
  EXPECT_EQ(fill("conv5", "stage4.0", true), 2) << "of ShuffleNetV2";
  EXPECT_EQ(fill("up1", "conv5", true), 0);
  EXPECT_EQ(fill("head", "body", true), 0);
  EXPECT_EQ(fill("block1head", "block1body", true), 0);
  EXPECT_EQ(fill("block1-head2", "block1-body1", true), 0);
  EXPECT_EQ(fill("block1b", "block1a", true), 2);
  EXPECT_EQ(fill("block1q", "block1k", true), 0) << "parts of a block";
  EXPECT_EQ(fill("e.x", "d.x", true), 0);
  EXPECT_EQ(fill("block1out", "block1", true), 0);
  EXPECT_EQ(fill("block", "block1", true), 0) << "bn comes after bn1, norm before norm1";
  EXPECT_EQ(fill("block1-head2", "block1-head1", true), 2);
  EXPECT_EQ(fill("", "visual", true), 0) << "a parameter outside all modules";
  EXPECT_EQ(fill("a..x", "a.1.x", true), 0);
  EXPECT_EQ(fill("head", "body", false), 1);
  const bool by_default = TorchWeightsOptions().by_names;
  EXPECT_EQ(fill("head", "body", by_default), 1) << "the order of the file";
  EXPECT_EQ(fill("block1-10.a", "block1-9.a", by_default), 1);
  // The layers' own names.
  EXPECT_EQ(fill("2_Conv2D", "1_Conv2D", false), 2);
  EXPECT_EQ(fill("2_Conv2D", "1_Conv2D", true), 2);
}

TEST_F(TorchWeightsTest, ValuesThatNoTrainingLeavesAreRefused) {
  const Graph graph = Network("resnet");
  for (const auto& [ending, value, message] :
       {std::tuple("running_var", -1.0F, "bn1.running_var\" has a negative number"),
        std::tuple("running_var", NAN, "bn1.running_var\" contains NaN"),
        std::tuple("weight", INFINITY, "conv1.weight\" contains NaN or infinity")}) {
    NamedTensors weights = *ReadTorchFile(StrCat(kFolder, "resnet.pth"));
    const auto found = std::ranges::find_if(
        weights, [&](const auto& tensor) { return tensor.first.ends_with(ending); });
    ASSERT_NE(found, weights.end());
    found->second.data<float>()[1] = value;
    store_ = *ParameterStore::Create(graph, *host_, DType::kFloat32, /*seed=*/3);
    EXPECT_THAT(std::string(FillFromTorch(weights, graph, *store_).status().message()),
                HasSubstr(message));
  }
}

TEST_F(TorchWeightsTest, SlopesFillAPRelu) {
  GraphBuilder b("net", TensorFormat::kNCHW);
  b.Input({4, 4, 3}).PRelu().PRelu(false).Flatten().Fc(2);
  const Graph graph = *b.Build();
  store_ = *ParameterStore::Create(graph, *host_, DType::kFloat32, /*seed=*/3);
  NamedTensors weights;
  for (const auto& [name, shape] : {std::pair("0.weight", Shape{3}),
                                    {"1.weight", Shape{1}},
                                    {"3.weight", Shape{2, 48}},
                                    {"3.bias", Shape{2}}}) {
    const Tensor tensor = *Tensor::Zeros(DType::kFloat32, shape);
    std::fill_n(tensor.data<float>(), tensor.num_elements(), 0.5F + float(weights.size()));
    weights.emplace_back(name, tensor);
  }
  const auto matched = FillFromTorch(weights, graph, *store_);
  ASSERT_TRUE(matched.ok()) << matched.status();
  EXPECT_EQ(matched->layers, 3);
  EXPECT_EQ(store_->Value(1, 0).data<float>()[2], 0.5F);
  EXPECT_EQ(store_->Value(2, 0).data<float>()[0], 1.5F);
}

// A factor for each channel, in PyTorch a parameter of its own.
TEST_F(TorchWeightsTest, ALayerScaleFillsOnlyADepthwiseConvolutionOfSinglePixels) {
  const auto fill = [&](int64_t outputs, const Conv2dOptions& options) {
    GraphBuilder b("net", TensorFormat::kNCHW);
    const Graph graph = *b.Input({4, 4, 4}).Conv2d(outputs, options).Build();
    store_ = *ParameterStore::Create(graph, *host_, DType::kFloat32, /*seed=*/3);
    const Tensor scale = *Tensor::Zeros(DType::kFloat32, {4, 1, 1});
    std::fill_n(scale.data<float>(), 4, 2.0F);
    const NamedTensors weights = {{"1_Conv2D.layer_scale", scale}};
    const auto matched = FillFromTorch(weights, graph, *store_, {.by_names = true});
    return matched.ok() ? "" : std::string(matched.status().message());
  };
  constexpr auto kDepthwise = ConvGrouping::kDepthwise;
  EXPECT_EQ(fill(0, {.kernel = 1, .bias = false, .grouping = kDepthwise}), "");
  EXPECT_EQ(store_->Value(1, 0).data<float>()[3], 2.0F);
  for (const Conv2dOptions& options :
       {Conv2dOptions{.kernel = 3, .bias = false}, Conv2dOptions{.kernel = 1, .bias = false},
        Conv2dOptions{.kernel = 3, .bias = false, .grouping = kDepthwise},
        Conv2dOptions{.bias = false, .grouping = ConvGrouping::kPointwise}}) {
    EXPECT_EQ(fill(options.grouping == kDepthwise ? 0 : 4, options),
              "\"1_Conv2D\" has a layer_scale, a factor for each channel, but layer 1 (Conv2D) is "
              "not a depthwise convolution of single pixels");
  }
}

TEST_F(TorchWeightsTest, TransformersComeAsOnnx) {
  const Graph graph = Network("vgg");
  store_ = *ParameterStore::Create(graph, *host_, DType::kFloat32, /*seed=*/3);
  for (const char* name : {"class_token", "encoder.pos_embedding",
                           "encoder.layers.encoder_layer_0.self_attention.in_proj_weight"}) {
    NamedTensors weights = *ReadTorchFile(StrCat(kFolder, "vgg.pth"));
    weights.emplace_back(name, *Tensor::Zeros(DType::kFloat32, {1, 1, 4}));
    EXPECT_EQ(FillFromTorch(weights, graph, *store_).status().message(),
              StrCat("\"", name,
                     "\" is a token, an embedding or a product of attention, which weights alone "
                     "do not fill; load them into their network in PyTorch, export that as ONNX, "
                     "torch.onnx.export, and import the .onnx file, which has them"));
  }
}

// Before a batch normalisation, zeros are all that a bias is good for.
TEST_F(TorchWeightsTest, BiasesThatTheFileLacksAreSaid) {
  const Graph graph = Network("vgg");
  NamedTensors weights = *ReadTorchFile(StrCat(kFolder, "vgg.pth"));
  std::erase_if(weights, [](const auto& tensor) {
    return tensor.first == "features.0.bias" || tensor.first == "features.3.bias";
  });
  store_ = *ParameterStore::Create(graph, *host_, DType::kFloat32, /*seed=*/3);
  const auto matched = FillFromTorch(weights, graph, *store_);
  ASSERT_TRUE(matched.ok()) << matched.status();
  EXPECT_THAT(matched->differing,
              ::testing::ElementsAre("the file has no biases, so they are zeros, of layer 1 "
                                     "(Conv2D), layer 4 (Conv2D)"));
}

TEST_F(TorchWeightsTest, CodeIsRefusedWithItsName) {
  EXPECT_THAT(std::string(ReadTorchFile(StrCat(kFolder, "whole_model.pth")).status().message()),
              HasSubstr("names \"__main__.Vgg\", and to load that could run any program"));
}

TEST(TorchFileTest, AViewLiesInItsStorage) {
  const auto view = ReadTorchFile(StrCat(kFolder, "view.pth"));
  ASSERT_TRUE(view.ok()) << view.status();
  const float* const values = view->at(0).second.data<float>();
  EXPECT_THAT(std::vector<float>(values, values + 6), ::testing::ElementsAre(4, 8, 12, 5, 9, 13));
  for (const char* name : {"offset", "stride", "shared", "negative", "storage"}) {
    EXPECT_THAT(
        std::string(ReadTorchFile(StrCat(kFolder, "view_", name, ".pth")).status().message()),
        HasSubstr(".pth: tensor \"w\": "));
  }
}

// Not that tensors share it.
TEST(TorchFileTest, AStorageThatIsTooShortIsNamed) {
  EXPECT_EQ(ReadTorchFile(StrCat(kFolder, "view_claim.pth")).status().message(),
            StrCat(kFolder,
                   "view_claim.pth: tensor \"w\": has a storage of 64 bytes; expected "
                   "4194304"));
}

TEST(TorchFileTest, TensorsWithoutElementsAreSkipped) {
  const std::string path = testing::NewFolder("torch") + "/empty.safetensors";
  const std::string header =
      R"({"fc.weight": {"dtype": "F32", "shape": [1048576, 0], "data_offsets": [0, 0]}})";
  std::ofstream(path, std::ios::binary) << char(header.size()) << std::string(7, '\0') << header;
  for (const std::string& file : {StrCat(kFolder, "view_empty.pth"), path}) {
    const auto read = ReadTorchFile(file);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(read->size(), 0U) << "a million outputs of nothing";
  }
}

// Each of 16 names would be a copy of its 4 KB.
TEST(TorchFileTest, NamesThatShareAStorageAreBounded) {
  EXPECT_THAT(std::string(ReadTorchFile(StrCat(kFolder, "view_names.pth")).status().message()),
              HasSubstr("together they have more than 8 times the bytes of the file"));
}

TEST(TorchFileTest, DamagedFilesAreRefused) {
  std::ifstream in(StrCat(kFolder, "vgg.pth"), std::ios::binary);
  const std::string whole(std::istreambuf_iterator<char>(in), {});
  const auto parse = [](const std::string& bytes) {
    return ParseTorchFile(std::as_bytes(std::span(bytes)), "w.pth");
  };
  ASSERT_TRUE(parse(whole).ok()) << parse(whole).status();
  EXPECT_EQ(parse(whole.substr(0, whole.size() / 2)).status().message(),
            "w.pth: begins like a zip archive, as torch.save writes since PyTorch 1.6, but its end "
            "is missing or damaged; is the file complete?");
  EXPECT_EQ(parse("").status().message(), "w.pth: is empty; is the file complete?");
  EXPECT_THAT(std::string(parse("<!DOCTYPE html>").status().message()),
              HasSubstr("w.pth: is an HTML page"));
  EXPECT_THAT(std::string(parse("\x80\2}q\1.").status().message()),  // of earlier versions
              HasSubstr("w.pth: is not a zip archive, as torch.save writes since PyTorch 1.6"));
  const std::string folder = testing::NewFolder("torch");
  for (const auto& [size, text] :
       {std::pair(size_t(0), "is empty"), std::pair(whole.size() - 10, "is the file complete?")}) {
    std::ofstream(folder + "/cut.pth", std::ios::binary) << whole.substr(0, size);
    EXPECT_THAT(std::string(ReadTorchFile(folder + "/cut.pth").status().message()),
                HasSubstr(text));
  }
  EXPECT_THAT(std::string(parse("text").status().message()), HasSubstr("w.pth: is not a zip"));
  std::string flipped = whole;
  const size_t weights = whole.find("data/0");
  flipped[weights + 128] = char(flipped[weights + 128] ^ 1);
  EXPECT_THAT(std::string(parse(flipped).status().message()), HasSubstr("damaged"));
}

}  // namespace
}  // namespace dtnn
