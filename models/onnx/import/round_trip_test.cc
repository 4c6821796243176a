// Networks of the zoo, exported and imported again. With DTNN_EVERY_NETWORK all of them that fit
// into a file; else those of few parameters and small images, and a narrow one of every family.

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "data/testing/idx_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "layers/pixels/class_token.h"
#include "models/graph/builder.h"
#include "models/onnx/export/export.h"
#include "models/onnx/file/onnx_file.h"
#include "models/onnx/import/import.h"
#include "models/onnx/testing/answers.h"
#include "models/quantization/quantize.h"
#include "models/zoo/convnext.h"
#include "models/zoo/densenet.h"
#include "models/zoo/googlenet.h"
#include "models/zoo/inception.h"
#include "models/zoo/inverted_residual.h"
#include "models/zoo/mobilenet.h"
#include "models/zoo/regnet.h"
#include "models/zoo/resnet.h"
#include "models/zoo/shufflenet.h"
#include "models/zoo/squeezenet.h"
#include "models/zoo/unet.h"
#include "models/zoo/vgg.h"
#include "models/zoo/zoo.h"
#include "tensor/must.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

using ::testing::HasSubstr;

class RoundTripTest : public ::testing::Test {
 protected:
  // Other values in biases and statistics than those of a new network.
  void Renew(const SavedModel& model) {
    store_ = *ParameterStore::Create(model.graph, *host_, model.dtype, /*seed=*/5);
    int64_t count = 0;
    for (size_t n = 0; n < model.graph.nodes().size(); ++n) {
      const auto& parameters = model.graph.nodes()[n].parameters;
      for (size_t p = 0; p < parameters.size(); ++p) {
        if (parameters[p].shape.rank() != 1) continue;
        float* const values = store_->Value(int(n), int(p)).data<float>();
        const float low = parameters[p].name == "running_var" ? 0.5F : -0.5F;
        for (int64_t i = 0; i < parameters[p].shape.NumElements(); ++i) {
          values[i] = low + float(++count * 7 % 13) / 13;
        }
      }
    }
    store_->MarkChanged();
  }

  // Gives the model other parameters and finds its ranges, by the samples that it returns.
  Tensor QuantizeModel(SavedModel& model) {
    Renew(model);
    const Tensor x = testing::CountedSamples(model.graph, 40, /*channels_first=*/false);
    model.quantization =
        Must(Quantize(model.graph, *store_, *host_, x, model.preprocessing)).record;
    return x;
  }

  void Check(SavedModel model, TensorFormat file) {
    SCOPED_TRACE(StrCat(model.graph.name(), " ", Name(file)));
    Renew(model);
    const auto exported = ExportModel(model, *store_, *host_, {.format = file});
    ASSERT_TRUE(exported.ok()) << exported.status();
    std::set<std::string> names;  // ONNX Runtime refuses two nodes with one
    for (const auto& node : exported->graph().node()) {
      EXPECT_TRUE(names.insert(node.name()).second) << node.name();
    }
    std::string bytes;
    ASSERT_TRUE(exported->SerializeToString(&bytes));
    const auto read = ParseOnnx(bytes, "net.onnx");
    ASSERT_TRUE(read.ok()) << read.status();
    const auto imported = ImportModel(*read, "net.onnx", *host_, {.format = model.graph.format()});
    ASSERT_TRUE(imported.ok()) << imported.status();
    const std::vector<Node>&before = model.graph.nodes(), &after = imported->model.graph.nodes();
    ASSERT_EQ(before.size(), after.size());
    for (size_t i = 0; i < before.size(); ++i) {
      EXPECT_EQ(before[i].name, after[i].name);
      EXPECT_EQ(before[i].id, after[i].id);
      EXPECT_EQ(before[i].layer->type_name(), after[i].layer->type_name());
    }
    EXPECT_EQ(imported->model.graph.name(), model.graph.name());
    EXPECT_EQ(imported->model.description, model.description);
    const std::string path = testing::NewFolder("round_trip") + "/model.safetensors";
    const Tensor x = testing::CountedSamples(model.graph, 2, /*channels_first=*/false);
    EXPECT_EQ(testing::Answers(model, *store_, *host_, path, x),
              testing::Answers(imported->model, *imported->store, *host_, path, x));
  }

  std::unique_ptr<DeviceContext> host_ = *DeviceContext::Create(Device::Cpu());
  std::unique_ptr<ParameterStore> store_;
};

#ifdef DTNN_EVERY_NETWORK
constexpr int64_t kMostParameters = 500'000'000;
#else
constexpr int64_t kMostParameters = 700'000;
#endif

TEST_F(RoundTripTest, NetworksOfTheZooAnswerTheSameBits) {
  int networks = 0;
  for (const ModelInfo& info : ZooModels()) {
    if (info.data.sample.height > 64 && kMostParameters < 1'000'000) continue;
    SavedModel model = {.graph = *BuildModel(info.name, {})};
    if (model.graph.num_parameters() > kMostParameters) continue;
    Check(std::move(model), TensorFormat::kNCHW);
    ++networks;
  }
  EXPECT_GE(networks, 10);
}

TEST_F(RoundTripTest, NarrowNetworksOfTheOtherFamilies) {
  using Append = std::function<void(GraphBuilder&)>;
  const std::pair<const char*, Append> networks[] = {
      {"bottleneck",
       [](GraphBuilder& b) {
         AppendResNet(b,
                      {.block = ResNetBlock::kBottleneck,
                       .blocks = {1, 1},
                       .width = 5,
                       .stem = ResNetStem::kConv7Relu,
                       .project_first_stage = true},
                      4);
       }},
      {"densenet",
       [](GraphBuilder& b) {
         AppendDenseNet(b, {3, {2, 2}, 0}, 4);
       }},
      {"googlenet",
       [](GraphBuilder& b) { AppendGoogLeNet(b, {.final_window = 0, .width_divisor = 16}, 4); }},
      {"mobilenet",
       [](GraphBuilder& b) { AppendMobileNet(b, {.tensorflow = true, .width_divisor = 16}, 4); }},
      {"mobilenet_v2",
       [](GraphBuilder& b) {
         AppendInvertedResiduals(
             b,
             {.blocks = {{4, 4, 3, 3, 1}, {3, 9, 5, 3, 2}, {5, 15, 5, 3, 1}}, .stem = 4, .last = 7},
             4);
       }},
      {"mobilenet_v3",
       [](GraphBuilder& b) {
         const ActivationKind wish = ActivationKind::kHardSwish;
         AppendInvertedResiduals(
             b,
             {.blocks = {{4, 4, 4, 3, 2, 2, ActivationKind::kRelu}, {4, 9, 5, 5, 1, 3, wish}},
              .stem = 4,
              .last = 7,
              .hidden = 6,
              .activation = wish,
              .batch_norm = {.epsilon = 1e-3}},
             4);
       }},
      {"efficientnet",
       [](GraphBuilder& b) {
         const ActivationKind silu = ActivationKind::kSilu, gate = ActivationKind::kSigmoid;
         AppendInvertedResiduals(b,
                                 {.blocks = {{4, 4, 3, 3, 1, 1, silu, silu, gate},
                                             {3, 9, 5, 5, 2, 2, silu, silu, gate},
                                             {5, 15, 5, 3, 1, 2, silu, silu, gate}},
                                  .stem = 4,
                                  .last = 7,
                                  .activation = silu},
                                 4);
       }},
      {"squeezenet", [](GraphBuilder& b) { AppendSqueezeNet(b, {.width_divisor = 16}, 4); }},
      {"regnet",
       [](GraphBuilder& b) {
         AppendRegNetY(b, {.stages = {{2, 4}, {1, 6}}, .group_width = 2, .stem = 4}, 4);
       }},
      {"convnext",
       [](GraphBuilder& b) {
         AppendConvNext(b, {.blocks = {1, 2}, .width = 4}, 4);
       }},
      {"shufflenet",
       [](GraphBuilder& b) {
         AppendShuffleNet(b, {.stem = 4, .blocks = {2, 2}, .widths = {6, 8}, .last = 10}, 4);
       }},
      {"torchvision_densenet",
       [](GraphBuilder& b) {
         AppendDenseNet(
             b, {.growth = 3, .blocks = {2, 2}, .stem = DenseNetStem::kConv7, .inputs_first = true},
             4);
       }},
      {"torchvision_googlenet",
       [](GraphBuilder& b) { AppendTorchvisionGoogLeNet(b, /*small_images=*/true, 16, 4); }},
      {"inception",
       [](GraphBuilder& b) {
         AppendInceptionV3(b, {.small_images = true, .normalised = true, .width_divisor = 16}, 4);
       }},
      {"vgg",
       [](GraphBuilder& b) {
         AppendVgg(b, {.groups = {{1, 3}, {2, 5}}, .hidden = 6}, 4);
       }},
      {"vgg_bn",
       [](GraphBuilder& b) {
         AppendVgg(b, {.groups = {{2, 3}}, .hidden = 6, .batch_norm = true, .plain_head = true}, 4);
       }},
      {"attention",
       [](GraphBuilder& b) {
         b.Conv2d(6, {.kernel = 5, .stride = 3}).SelfAttention({.heads = 2}).Gelu();
         b.SelfAttention({.key_channels = 1, .value_channels = 3, .factor = 1, .bias = false});
         b.MaxPool2d({.window = 2, .stride = 2}).SelfAttention({.heads = 6}).Flatten().Fc(4);
       }},
      {"all",
       [](GraphBuilder& b) {
         b.Conv2d(6, {.kernel = {1, 2}, .dilation = {2, 1}, .bias = false}).LeakyRelu();
         b.Conv2d(4, {.padding = {2, 1}, .groups = 2}).Tanh();
         b.MaxPool2d({.window = {3, 2}, .stride = 2, .padding = 1, .ceil = true});
         b.AveragePool2d({.window = 3, .stride = {1, 2}, .padding = {1, 0}}).Sigmoid();
         b.AveragePool2d({.window = 3, .padding = 1, .count_padding = true});
         b.Add({GraphBuilder::Identity(), [](GraphBuilder& p) { p.Relu6(); },
                [](GraphBuilder& p) { p.Conv2d(4, {.kernel = 1}).Arctanh(); }});
         b.Silu().HardSwish().Gelu().HardSigmoid().Scale(0.7);
         b.LeakyRelu(0.3).Elu(0.7).Clip(-0.6, 0.8).Mish().Softplus().PRelu();
         b.Pad2d({.before = {1, 2}, .mode = PadMode::kReflect}).Pad2d({.after = 1, .value = 0.5});
         b.Pad2d({.before = {0, 3}, .after = {1, 0}, .mode = PadMode::kEdge});
         b.Multiply({GraphBuilder::Identity(), [](GraphBuilder& p) {
                       p.AveragePool2d({.window = 0}).Conv2d(4, {.kernel = 1}).Sigmoid();
                     }});
         b.MaxPool2d({.window = 0}).Log().PRelu(false).Dropout(0.25).Flatten().BatchNorm();
         b.PRelu().Fc(3);
       }},
  };
  for (const auto& [name, append] : networks) {
    for (const TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
      for (const TensorFormat file : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
        GraphBuilder b(name, format);
        b.Input({37, 30, 3});
        append(b);
        auto graph = b.Softmax().Build();
        ASSERT_TRUE(graph.ok()) << graph.status();
        SavedModel model = {.graph = *std::move(graph)};
        model.preprocessing.normalization = {{-0.5}, {4}};
        model.description.loss = "categorical_cross_entropy";
        model.description.training.dataset = "mine";
        Check(std::move(model), file);
      }
    }
  }
}

// In 8 bits: the ranges come back, from the metadata or, without these, from the nodes.
TEST_F(RoundTripTest, RangesForEightBits) {
  GraphBuilder b("net", TensorFormat::kNHWC);
  b.Input({9, 8, 3}).Conv2d(8, {.padding = 1}).BatchNorm().Relu();
  b.Add(
      {GraphBuilder::Identity(), [](GraphBuilder& p) { p.Conv2d(8, {.padding = 1}).BatchNorm(); }});
  b.Relu().MaxPool2d({.stride = 2}).Flatten().Fc(6).Relu().Fc(4).Softmax();
  SavedModel model = {.graph = *b.Build()};
  const Tensor x = QuantizeModel(model);
  auto exported = ExportModel(model, *store_, *host_, {.int8 = true});
  ASSERT_TRUE(exported.ok()) << exported.status();
  const auto with_metadata = ImportModel(*exported, "net.onnx", *host_);
  ASSERT_TRUE(with_metadata.ok()) << with_metadata.status();
  EXPECT_EQ(with_metadata->model.quantization, model.quantization);
  exported->clear_metadata_props();
  const auto imported = ImportModel(*exported, "net.onnx", *host_);
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_EQ(imported->notes, std::vector<std::string>());
  ASSERT_TRUE(imported->model.quantization.has_value());
  EXPECT_EQ(imported->model.quantization->in_float.size(), model.quantization->in_float.size());
  const std::string path = testing::NewFolder("round_trip") + "/model.safetensors";
  const auto before = testing::Answers(model, *store_, *host_, path, x, /*int8=*/true),
             after = testing::Answers(imported->model, *imported->store, *host_, path, x, true);
  ASSERT_EQ(before.size(), after.size());
  for (size_t i = 0; i < before.size(); ++i) EXPECT_NEAR(before[i], after[i], 0.02) << i;
}

// Zeros around an image stay a layer, and ranges from 0 on are not relus that the file left out.
TEST_F(RoundTripTest, RangesForEightBitsAreThoseOfTheSameLayers) {
  GraphBuilder b("net", TensorFormat::kNHWC);
  b.Input({9, 8, 3}).Pad2d({.before = 1, .after = 1}).Conv2d(8).Conv2d(8);
  b.Flatten().Fc(4).Softmax();
  SavedModel model = {.graph = *b.Build()};
  const Tensor x = QuantizeModel(model);
  for (auto& [id, range] : model.quantization->ranges) range = {.low = 0, .high = 2};
  for (const bool int8 : {false, true}) {
    SCOPED_TRACE(int8);
    const auto exported = ExportModel(model, *store_, *host_, {.int8 = int8});
    ASSERT_TRUE(exported.ok()) << exported.status();
    const auto imported = ImportModel(*exported, "net.onnx", *host_);
    ASSERT_TRUE(imported.ok()) << imported.status();
    EXPECT_EQ(imported->model.quantization, model.quantization);
    const std::vector<Node>&before = model.graph.nodes(), &after = imported->model.graph.nodes();
    ASSERT_EQ(before.size(), after.size());
    for (size_t i = 0; i < before.size(); ++i) {
      EXPECT_EQ(before[i].name, after[i].name);
      EXPECT_EQ(before[i].id, after[i].id);
    }
    const std::string path = testing::NewFolder("round_trip") + "/model.safetensors";
    const auto expected = testing::Answers(model, *store_, *host_, path, x, /*int8=*/true),
               answers = testing::Answers(imported->model, *imported->store, *host_, path, x, true);
    ASSERT_EQ(expected.size(), answers.size());
    for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(expected[i], answers[i], 0.02) << i;
  }
}

// Another program may take layers out of a file, and keeps the metadata as they are.
TEST_F(RoundTripTest, RangesAreDroppedWhereLayersHaveOtherNumbers) {
  for (const int64_t gone : {2, 6}) {  // a Relu in the middle; the last layer
    for (const bool int8 : {false, true}) {
      SCOPED_TRACE(StrCat(gone, " ", int8));
      GraphBuilder b("net", TensorFormat::kNHWC);
      b.Input({9, 8, 3}).Conv2d(8).Relu().Conv2d(8).Flatten().Fc(4).Softmax();
      SavedModel model = {.graph = *b.Build()};
      const Tensor x = QuantizeModel(model);
      auto exported = ExportModel(model, *store_, *host_, {.int8 = int8});
      ASSERT_TRUE(exported.ok()) << exported.status();
      // Each node is a layer, or a step of one that computes the same without it.
      const std::string name = model.graph.nodes()[size_t(gone)].name;
      for (auto& node : *exported->mutable_graph()->mutable_node()) {
        if (node.name() == name) {
          node.set_op_type("Identity");
          node.clear_attribute();
        }
      }
      const auto imported = ImportModel(*exported, "net.onnx", *host_);
      ASSERT_TRUE(imported.ok()) << imported.status();
      ASSERT_EQ(imported->model.graph.nodes().size(), model.graph.nodes().size() - 1);
      EXPECT_THAT(imported->notes,
                  ::testing::Contains(HasSubstr("ranges in the file's metadata are dropped")));
      // Those around the layers are theirs.
      ASSERT_EQ(imported->model.quantization.has_value(), int8);
      if (int8) {
        EXPECT_EQ(imported->model.quantization->method, kRangesOfOnnx);
      }
    }
  }
}

// Another program may put a file of floats into 8 bits, and keeps the ranges in the metadata.
TEST_F(RoundTripTest, RangesAreThoseOfTheProgramThatQuantizedLast) {
  GraphBuilder b("net", TensorFormat::kNHWC);
  b.Input({9, 8, 3}).Conv2d(8).Conv2d(8).Flatten().Fc(4).Softmax();
  SavedModel model = {.graph = *b.Build()};
  QuantizeModel(model);
  for (auto& [id, range] : model.quantization->ranges) range = {.low = -3, .high = 3};
  auto exported = ExportModel(model, *store_, *host_, {.int8 = true});
  ASSERT_TRUE(exported.ok()) << exported.status();
  std::set<std::string> scales;
  for (auto& node : *exported->mutable_graph()->mutable_node()) {
    if (!node.name().ends_with("/Quantize")) continue;
    node.set_name(node.name() + "Linear");
    scales.insert(node.input(1));
  }
  for (auto& tensor : *exported->mutable_graph()->mutable_initializer()) {
    if (!scales.contains(tensor.name())) continue;
    float scale = 0;
    std::memcpy(&scale, tensor.raw_data().data(), sizeof scale);
    scale *= 2;
    tensor.set_raw_data(std::string(reinterpret_cast<const char*>(&scale), sizeof scale));
  }
  const auto imported = ImportModel(*exported, "net.onnx", *host_);
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_THAT(imported->notes,
              ::testing::Contains(HasSubstr("metadata are dropped: another program")));
  ASSERT_TRUE(imported->model.quantization.has_value());
  EXPECT_EQ(imported->model.quantization->method, kRangesOfOnnx);
  int wide = 0;
  for (const auto& [id, range] : imported->model.quantization->ranges) {
    wide += range.high - range.low > 11 ? 1 : 0;
  }
  EXPECT_GE(wide, 2);
}

// Names of other programs may begin with any number.
TEST_F(RoundTripTest, RangesAreKeptWhereNamesBeginWithOtherNumbers) {
  GraphBuilder b("net", TensorFormat::kNHWC);
  b.Input({9, 8, 3}).Conv2d(8).Relu().Flatten().Fc(4);
  SavedModel model = {.graph = *b.Build()};
  Renew(model);
  auto foreign = *ExportModel(model, *store_, *host_);
  foreign.clear_metadata_props();
  for (auto& node : *foreign.mutable_graph()->mutable_node()) {
    if (node.name() == model.graph.nodes()[1].name) node.set_name("0_conv");
  }
  auto imported = ImportModel(foreign, "net.onnx", *host_);
  ASSERT_TRUE(imported.ok()) << imported.status();
  SavedModel& again = imported->model;
  ASSERT_EQ(again.graph.nodes()[1].name, "0_conv");
  const Tensor x = testing::CountedSamples(again.graph, 40, /*channels_first=*/false);
  const auto quantized = Quantize(again.graph, *imported->store, *host_, x, again.preprocessing);
  ASSERT_TRUE(quantized.ok()) << quantized.status();
  again.quantization = quantized->record;
  const auto exported = ExportModel(again, *imported->store, *host_);
  ASSERT_TRUE(exported.ok()) << exported.status();
  const auto last = ImportModel(*exported, "net.onnx", *host_);
  ASSERT_TRUE(last.ok()) << last.status();
  EXPECT_EQ(last->notes, std::vector<std::string>());
  EXPECT_EQ(last->model.quantization, again.quantization);
}

// Embeddings of one pixel are sums with as many constants as a beta is.
TEST_F(RoundTripTest, NormalisationsOfAnyGroups) {
  for (const TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
    for (const int64_t groups : {1, 2, 3, 4, 6, 12}) {
      GraphBuilder b("groups", format);
      b.Input({6, 5, 3}).Conv2d(12, {.kernel = 3}).GroupNorm({.groups = groups}).Relu();
      b.GroupNorm({.groups = groups, .epsilon = 1e-3}).PositionEmbedding();
      b.AveragePool2d({.window = 0}).GroupNorm({.groups = groups, .epsilon = 1});
      b.PositionEmbedding().Flatten().Fc(4).Softmax();
      Check({.graph = *b.Build()}, format);
    }
  }
}

// Gamma is 1 and beta is 0 in new networks, as what stands beside the groups is.
TEST_F(RoundTripTest, NormalisationsThatHaveLearnedNothing) {
  GraphBuilder b("groups", TensorFormat::kNCHW);
  b.Input({1, 1, 6}).GroupNorm({.groups = 2}).PositionEmbedding().GroupNorm({.groups = 3});
  b.Conv2d(6, {.kernel = 1, .grouping = ConvGrouping::kDepthwise}).Flatten().Fc(4);
  const SavedModel model = {.graph = *b.Build()};
  store_ = *ParameterStore::Create(model.graph, *host_, model.dtype, /*seed=*/5);
  const auto exported = ExportModel(model, *store_, *host_);
  ASSERT_TRUE(exported.ok()) << exported.status();
  const auto imported = ImportModel(*exported, "net.onnx", *host_);
  ASSERT_TRUE(imported.ok()) << imported.status();
  const std::vector<Node>&before = model.graph.nodes(), &after = imported->model.graph.nodes();
  ASSERT_EQ(before.size(), after.size());
  for (size_t i = 0; i < before.size(); ++i) EXPECT_EQ(before[i].name, after[i].name);
}

TEST_F(RoundTripTest, NormalisationsWithinSamples) {
  for (const TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
    GraphBuilder b("within", format);
    b.Input({6, 5, 3}).Conv2d(4, {.kernel = 3}).GroupNorm({.per_pixel = true, .epsilon = 1e-6});
    b.Conv2d(6, {.kernel = 1}).GroupNorm({.groups = 6}).Relu().GroupNorm({.epsilon = 1e-3});
    b.Flatten().Fc(4).Softmax();
    Check({.graph = *b.Build()}, TensorFormat::kNCHW);
  }
}

// A pooling to one pixel, whose scores are a channel for each head.
TEST_F(RoundTripTest, KeysOfOnePixel) {
  for (const TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
    for (const int64_t heads : {1, 2}) {
      GraphBuilder b("keys", format);
      b.Input({6, 5, 3}).Conv2d(6, {.kernel = 3}).AveragePool2d({.window = 0});
      b.SelfAttention({.heads = heads}).Flatten().Fc(4).Softmax();
      Check({.graph = *b.Build()}, TensorFormat::kNCHW);
    }
  }
}

TEST_F(RoundTripTest, ChannelsShuffledAndSplit) {
  for (const TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
    GraphBuilder b("channels", format);
    b.Input({4, 5, 3}).Conv2d(12, {.kernel = 1}).ChannelShuffle(3);
    b.Concat({[](GraphBuilder& p) { p.ChannelSlice(0, 5); },
              [](GraphBuilder& p) { p.ChannelSlice(5, 7).Conv2d(7, {.kernel = 1}); }});
    b.ChannelShuffle(2).Flatten().Fc(4).Softmax();
    Check({.graph = *b.Build()}, TensorFormat::kNCHW);
  }
}

TEST_F(RoundTripTest, RowsAndColumns) {
  for (const TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
    for (const TensorFormat file : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
      GraphBuilder b("slices", format);
      b.Input({8, 6, 3});
      const auto every_second = [](const Pair& begin) {
        return [begin](GraphBuilder& p) { p.Slice2d({.begin = begin, .step = 2}); };
      };
      b.Concat(
          {every_second({0, 0}), every_second({1, 0}), every_second({0, 1}), every_second({1, 1})});
      b.Conv2d(4, {.kernel = 1}).Slice2d({}).Slice2d({.begin = {1, 0}, .count = {2, 3}});
      b.Slice2d({.begin = {1, 0}}).Slice2d({.count = {1, 2}}).PixelSlice(1, 1);
      b.Slice2d({.step = 9}).Flatten().Fc(4).Softmax();
      Check({.graph = *b.Build()}, file);
    }
  }
}

TEST_F(RoundTripTest, PixelsAsTokens) {
  for (const TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
    for (const TensorFormat file : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
      GraphBuilder b("tokens", format);
      b.Input({8, 6, 3}).Conv2d(6, {.kernel = 2, .stride = 2, .bias = false}).PositionEmbedding();
      b.ClassToken().Append(std::make_shared<ClassTokenLayer>(2));
      b.PositionEmbedding().GroupNorm({.per_pixel = true});
      b.SelfAttention({.heads = 2}).PixelSlice(1, 10).PixelSlice(2, 1).Flatten().Fc(4).Softmax();
      Check({.graph = *b.Build()}, file);
    }
  }
}

// Another view than a slice of an image of several rows, and a token of one pixel.
TEST_F(RoundTripTest, PixelsOfSeveralRowsAndOfOne) {
  for (const TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
    GraphBuilder b("tokens", format);
    b.Input({4, 3, 5}).Relu().Scale(0.25).PositionEmbedding().PixelSlice(0, 12).PixelSlice(2, 9);
    b.Conv2d(4, {.kernel = 1}).PixelSlice(0, 1);
    b.Relu().PositionEmbedding().ClassToken().AveragePool2d({.window = 0}).Flatten().Fc(4);
    Check({.graph = *b.Softmax().Build()}, TensorFormat::kNCHW);
  }
}

// Other files begin with preprocessing there.
TEST_F(RoundTripTest, WhatFollowsTheInputIsALayer) {
  using Append = std::function<void(GraphBuilder&)>;
  for (const Append& append :
       {Append([](GraphBuilder& b) { b.Scale(0.25).PositionEmbedding(); }),
        Append([](GraphBuilder& b) { b.PositionEmbedding().Scale(0.25); })}) {
    GraphBuilder b("first", TensorFormat::kNHWC);
    b.Input({4, 3, 5});
    append(b);
    b.Flatten().Fc(4).Softmax();
    Check({.graph = *b.Build()}, TensorFormat::kNCHW);
  }
}

TEST_F(RoundTripTest, ImagesMadeLarger) {
  for (const TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
    GraphBuilder b("larger", format);
    b.Input({4, 3, 3}).Conv2d(4, {.kernel = 1}).Upsample2d({.scale = {2, 3}});
    b.Upsample2d({.mode = ResizeMode::kLinear});
    b.Upsample2d({.mode = ResizeMode::kLinear, .align_corners = true});
    b.AveragePool2d({.window = 5, .stride = 3});
    b.TransposedConv2d(6, {.stride = 2, .padding = 1, .output_padding = {1, 0}, .groups = 2});
    b.TransposedConv2d(2, {.kernel = {2, 3}, .stride = 2, .dilation = {1, 2}, .bias = false});
    b.Flatten().Fc(4).Softmax();
    Check({.graph = *b.Build()}, TensorFormat::kNCHW);
  }
}

TEST_F(RoundTripTest, ClassesOfPixels) {
  for (const TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
    GraphBuilder b("pixels", format);
    b.Input({4, 8, 3});
    AppendUNet(b, {.width = 3, .depth = 2}, 5);
    Check({.graph = *b.Softmax().Build()}, TensorFormat::kNCHW);
  }
}

}  // namespace
}  // namespace dtnn
