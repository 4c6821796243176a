#include "models/graph/builder.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "layers/input.h"

namespace dtnn {
namespace {

using Path = GraphBuilder::Path;

TEST(GraphBuilderTest, IdsFollowTheTableAndNodesTheExecution) {
  GraphBuilder b("ids", TensorFormat::kNHWC);
  b.Input({8, 8, 3}).Conv2d(4, {.padding = 1});
  const Path inner = [](GraphBuilder& p) { p.Conv2d(4, {.padding = 1}).Relu(); };
  b.Add({[&](GraphBuilder& p) {
           p.Relu().Add({inner, GraphBuilder::Identity()});
         },
         GraphBuilder::Identity()});
  b.Flatten();
  const absl::StatusOr<Graph> graph = b.Build();
  ASSERT_TRUE(graph.ok()) << graph.status();
  // 0 input, 1 conv, 2 outer block, 3 relu, 4 inner block, 5 conv, 6 relu, 7 flatten.
  std::vector<int> ids;
  for (const Node& node : graph->nodes()) {
    ids.push_back(node.id);
    for (int input : node.inputs) EXPECT_LT(input, int(&node - graph->nodes().data()));
  }
  EXPECT_EQ(ids, (std::vector<int>{0, 1, 3, 5, 6, 4, 2, 7}));
  EXPECT_EQ(graph->nodes().size(), 8);
  const Node& outer = graph->nodes()[6];
  EXPECT_EQ(outer.inputs, (std::vector<int>{5, 1}));
}

TEST(GraphBuilderTest, ConcatenationKeepsThePathOrder) {
  GraphBuilder b("concat", TensorFormat::kNCHW);
  b.Input({4, 4, 3});
  b.Concat({[](GraphBuilder& p) { p.Conv2d(5, {.kernel = 1}); }, GraphBuilder::Identity()});
  EXPECT_EQ(b.current(), (Shape{8, 4, 4}));
  const Graph graph = *b.Build();
  EXPECT_EQ(graph.nodes().back().inputs, (std::vector<int>{1, 0}));
}

TEST(GraphBuilderTest, EveryActivationAndPoolHasItsWord) {
  GraphBuilder b("words", TensorFormat::kNHWC);
  b.Input({9, 9, 3}).MaxPool2d().AveragePool2d().AdaptiveAveragePool2d({2, 3}).Upsample2d();
  b.ChannelShuffle(3)
      .ChannelSlice(1, 2)
      .Pad2d({.before = {1, 0}})
      .Slice2d({.begin = {1, 0}, .step = {1, 1}});
  EXPECT_EQ(b.current(), (Shape{4, 6, 2}));
  b.Scale(2).ClassToken().PositionEmbedding().PixelSlice(1, 3);
  EXPECT_EQ(b.current(), (Shape{1, 3, 2}));
  b.Relu()
      .Sigmoid()
      .Tanh()
      .LeakyRelu()
      .Relu6()
      .Arctanh()
      .Log()
      .HardSigmoid()
      .Silu()
      .Gelu()
      .HardSwish()
      .Elu()
      .Clip(0, 2)
      .Softplus()
      .Mish()
      .PRelu();
  const absl::StatusOr<Graph> graph = b.Build();
  ASSERT_TRUE(graph.ok()) << graph.status();
  std::vector<std::string> types;
  for (const Node& node : graph->nodes()) types.emplace_back(node.layer->type_name());
  EXPECT_EQ(types, (std::vector<std::string>{
                       "Input",       "MaxPool2D",      "AveragePool2D", "AdaptiveAveragePool2D",
                       "Upsample2D",  "ChannelShuffle", "ChannelSlice",  "Pad2D",
                       "Slice2D",     "Scale",          "ClassToken",    "PositionEmbedding",
                       "PixelSlice",  "Relu",           "Sigmoid",       "Tanh",
                       "LeakyRelu",   "Relu6",          "Arctanh",       "Log",
                       "HardSigmoid", "SiLU",           "GELU",          "HardSwish",
                       "ELU",         "Clip",           "Softplus",      "Mish",
                       "PRelu"}));
}

TEST(GraphBuilderTest, SelfAttentionIsMadeOfLayers) {
  GraphBuilder b("attention", TensorFormat::kNCHW);
  b.Input({4, 4, 6}).SelfAttention({.heads = 2, .key_channels = 4, .value_channels = 8});
  const absl::StatusOr<Graph> graph = b.Build();
  ASSERT_TRUE(graph.ok()) << graph.status();
  std::vector<std::string> layers;
  for (const Node& node : graph->nodes()) {
    layers.push_back(std::string(node.layer->type_name()) + " " + node.output.ToString());
  }
  EXPECT_EQ(layers,
            (std::vector<std::string>{"Input (6, 4, 4)", "Conv2D (4, 4, 4)", "Conv2D (4, 4, 4)",
                                      "ScoresBlock (32, 4, 4)", "GroupSoftmax (32, 4, 4)",
                                      "Conv2D (8, 4, 4)", "WeightedSumBlock (8, 4, 4)",
                                      "Conv2D (6, 4, 4)", "AdditionBlock (6, 4, 4)"}));
  EXPECT_EQ(graph->nodes()[3].layer->SettingsCell(), "heads 2, factor 0.707107");
}

TEST(GraphBuilderTest, WeightKeysNameIdLayerAndParameter) {
  GraphBuilder b("keys", TensorFormat::kNHWC);
  b.Input({4, 4, 3}).Flatten().Fc(2);
  const Graph graph = *b.Build();
  const Node& fc = graph.nodes().back();
  EXPECT_EQ(Graph::WeightKey(fc, fc.parameters[0]), "2_FC_weights");
  EXPECT_EQ(Graph::WeightKey(fc, fc.parameters[1]), "2_FC_biases");
}

TEST(GraphBuilderTest, TheFirstMistakeIsReported) {
  GraphBuilder b("broken", TensorFormat::kNHWC);
  b.Input({4, 4, 3}).Relu().Fc(2).Conv2d(0);
  EXPECT_EQ(b.Build().status().message(),
            "model broken, layer 2 (FC): needs a vector, not a sample of shape (4, 4, 3); put a "
            "Flatten before it");
}

TEST(GraphBuilderTest, SizesThatNoMachineHoldsAreRefused) {
  GraphBuilder image("image", TensorFormat::kNHWC);
  image.Input({int64_t{1} << 40, int64_t{1} << 40, 3});
  EXPECT_EQ(image.Build().status().message(),
            "model image, layer 0 (Input): a tensor of shape (1099511627776, 1099511627776, 3) has "
            "more than 2^48 elements");
  GraphBuilder weights("weights", TensorFormat::kNHWC);
  weights.Input({1, int64_t{1} << 40, 1}).Flatten().Fc(int64_t{1} << 40);
  EXPECT_NE(weights.Build().status().message().find("layer 2 (FC)"), std::string::npos);
}

TEST(GraphBuilderTest, MismatchedPathsNameTheBlock) {
  GraphBuilder b("paths", TensorFormat::kNHWC);
  b.Input({4, 4, 3});
  b.Add({[](GraphBuilder& p) { p.Conv2d(2, {.kernel = 1}); }, GraphBuilder::Identity()});
  EXPECT_EQ(b.Build().status().message(),
            "model paths, layer 1 (AdditionBlock): adds paths of equal shapes, but has (4, 4, 2) "
            "and (4, 4, 3)");
}

TEST(GraphBuilderTest, ANetworkBeginsWithInput) {
  GraphBuilder b("headless", TensorFormat::kNHWC);
  b.Relu();
  EXPECT_EQ(b.Build().status().message(),
            "model headless, layer 0 (Relu): a network starts with Input");
  EXPECT_FALSE(GraphBuilder("empty", TensorFormat::kNHWC).Build().ok());
  GraphBuilder twice("twice", TensorFormat::kNHWC);
  twice.Input({4, 4, 3}).Append(std::make_shared<InputLayer>(ImageExtents{4, 4, 3}));
  EXPECT_EQ(twice.Build().status().message(),
            "model twice, layer 1 (Input): must come first and only once");
}

}  // namespace
}  // namespace dtnn
