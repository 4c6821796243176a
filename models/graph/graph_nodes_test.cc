#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "layers/activation.h"
#include "layers/fc.h"
#include "layers/flatten.h"
#include "layers/input.h"
#include "layers/merging/addition.h"
#include "models/graph/builder.h"
#include "models/graph/graph.h"

namespace dtnn {
namespace {

std::vector<NodeSpec> Residual() {
  const auto relu = std::make_shared<ActivationLayer>(ActivationKind::kRelu);
  return {{.layer = std::make_shared<InputLayer>(ImageExtents{2, 2, 1}), .name = "image"},
          {.layer = std::make_shared<FlattenLayer>(), .inputs = {"image"}},
          {.layer = std::make_shared<FcLayer>(4), .inputs = {"1_Flatten"}, .name = "body"},
          {.layer = relu, .inputs = {"body"}},
          {.layer = std::make_shared<AdditionLayer>(), .inputs = {"3_Relu", "1_Flatten"}},
          {.layer = std::make_shared<FcLayer>(3), .inputs = {"4_AdditionBlock"}, .name = "head"}};
}

absl::StatusOr<Graph> Made(const std::vector<NodeSpec>& nodes) {
  return Graph::FromNodes("net", TensorFormat::kNHWC, nodes);
}

TEST(GraphNodesTest, NamesBecomeKeysAndShapesFollow) {
  const absl::StatusOr<Graph> graph = Made(Residual());
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(graph->output_shape(), Shape{3});
  EXPECT_EQ(graph->num_parameters(), 4 * 4 + 4 + 4 * 3 + 3);
  const Node& head = graph->nodes().back();
  EXPECT_EQ(head.id, 5);
  EXPECT_EQ(Graph::WeightKey(head, head.parameters[0]), "head_weights");
  EXPECT_EQ(graph->nodes()[4].inputs, (std::vector<int>{3, 1}));
  EXPECT_EQ(graph->layout().size(), 6);
}

TEST(GraphNodesTest, ComesBackFromItsNodes) {
  GraphBuilder b("blocks", TensorFormat::kNCHW);
  b.Input({4, 4, 3}).Conv2d(4, {.padding = 1});
  const GraphBuilder::Path inner = [](GraphBuilder& p) { p.Conv2d(4, {.padding = 1}).Relu(); };
  b.Add({[&](GraphBuilder& p) {
           p.Relu().Concat({inner, inner}).Conv2d(4, {.kernel = 1});
         },
         GraphBuilder::Identity()});
  b.Flatten().Fc(2);
  const Graph graph = *b.Build();
  const absl::StatusOr<Graph> back =
      Graph::FromNodes(graph.name(), graph.format(), graph.ToNodes());
  ASSERT_TRUE(back.ok()) << back.status();
  ASSERT_EQ(back->nodes().size(), graph.nodes().size());
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    EXPECT_EQ(back->nodes()[i].id, graph.nodes()[i].id);
    EXPECT_EQ(back->nodes()[i].name, graph.nodes()[i].name);
    EXPECT_EQ(back->nodes()[i].inputs, graph.nodes()[i].inputs);
    EXPECT_EQ(back->nodes()[i].output, graph.nodes()[i].output);
  }
  const LayoutItem& block = back->layout()[2];
  ASSERT_EQ(block.paths.size(), 2);
  EXPECT_EQ(block.paths[0].size(), 3);
  ASSERT_EQ(block.paths[0][1].paths.size(), 2) << "a block in a block";
  EXPECT_EQ(block.paths[0][1].paths[0].size(), 2);
  EXPECT_EQ(block.paths[0][1].paths[1].size(), 2);
  EXPECT_TRUE(block.paths[1].empty());
}

TEST(GraphNodesTest, WhatIsWrongIsNamed) {
  const auto mistake = [](void (*change)(std::vector<NodeSpec>&)) {
    std::vector<NodeSpec> nodes = Residual();
    change(nodes);
    return std::string(Made(nodes).status().message());
  };
  using Nodes = std::vector<NodeSpec>;
  EXPECT_EQ(mistake([](Nodes& nodes) { nodes.clear(); }),
            "network \"net\": has 0 nodes, expected 1 to 65536");
  EXPECT_EQ(
      mistake([](Nodes& nodes) { nodes[2].inputs = {"none"}; }),
      "network \"net\", node \"body\": its input \"none\" is not the name of an earlier node");
  EXPECT_EQ(mistake([](Nodes& nodes) { nodes[2].inputs = {"head"}; }),
            "network \"net\", node \"body\": its input \"head\" is not the name of an earlier node")
      << "a cycle";
  EXPECT_EQ(mistake([](Nodes& nodes) { nodes[5].name = "body"; }),
            "network \"net\", node \"body\": another node has the same name");
  EXPECT_EQ(mistake([](Nodes& nodes) { nodes[5].id = 4; }),
            "network \"net\", node \"head\": another node has its id, 4");
  EXPECT_EQ(mistake([](Nodes& nodes) { nodes[5].id = 6; }),
            "network \"net\", node \"head\": its id is 6; those of 6 nodes are 0 to 5");
  EXPECT_EQ(mistake([](Nodes& nodes) { nodes[5].inputs = {}; }),
            "network \"net\", node \"head\": it has no input");
  EXPECT_EQ(mistake([](Nodes& nodes) { nodes[5].layer = nodes[0].layer; }),
            "network \"net\", node \"head\": Input must come first, and once");
  EXPECT_EQ(mistake([](Nodes& nodes) { nodes[0].layer = nodes[1].layer; }),
            "network \"net\", node \"image\": a network starts with Input");
  EXPECT_EQ(mistake([](Nodes& nodes) { nodes[5].inputs = {"3_Relu"}; }),
            "network \"net\", node \"4_AdditionBlock\": its output is used by no other node");
  EXPECT_EQ(mistake([](Nodes& nodes) { nodes[2].layer = std::make_shared<FcLayer>(5); }),
            "network \"net\", node \"4_AdditionBlock\": adds paths of equal shapes, but has (5,) "
            "and (4,)");
  EXPECT_EQ(mistake([](Nodes& nodes) { nodes[5].inputs.assign(5000, "body"); }),
            "network \"net\", node \"head\": it has 5000 inputs, more than 4096");
  EXPECT_EQ(mistake([](Nodes& nodes) { nodes[3].block = "head"; }),
            "network \"net\", node \"3_Relu\": its block \"head\" is not the name of a node with a "
            "smaller id");
  EXPECT_EQ(mistake([](Nodes& nodes) { nodes[4].block = "4_AdditionBlock"; }),
            "network \"net\", node \"4_AdditionBlock\": its block \"4_AdditionBlock\" is not the "
            "name of a node with a smaller id");
  EXPECT_EQ(mistake([](Nodes& nodes) {
              nodes[5].block = "4_AdditionBlock";
              nodes[5].path = 2;
            }),
            "network \"net\", node \"head\": its path is 2, but its block \"4_AdditionBlock\" has "
            "2");
  for (const char* name : {"__head", "a b", "\n"}) {
    std::vector<NodeSpec> nodes = Residual();
    nodes[5].name = name;
    EXPECT_NE(Made(nodes).status().message().find("its name must have"), std::string::npos) << name;
  }
}

TEST(GraphNodesTest, LimitsAreReachedAndNotPassed) {
  const auto ends_with = [](std::vector<NodeSpec> nodes) {
    const absl::Status status = Made(nodes).status();
    return status.ok() ? "fine" : std::string(status.message());
  };
  std::vector<NodeSpec> nodes = Residual();
  nodes[5].name = std::string(256, 'n');
  EXPECT_EQ(ends_with(nodes), "fine");
  nodes[5].name += 'n';
  EXPECT_NE(ends_with(nodes).find("its name must have 1 to 256"), std::string::npos);
  nodes = Residual();
  nodes[4].inputs.resize(4096, "3_Relu");
  EXPECT_EQ(ends_with(nodes), "fine");
  nodes[4].inputs.push_back("3_Relu");
  EXPECT_EQ(ends_with(nodes),
            "network \"net\", node \"4_AdditionBlock\": it has 4097 inputs, more than 4096");
  // Each in a block that the one before it makes.
  const auto relu = std::make_shared<ActivationLayer>(ActivationKind::kRelu);
  nodes = {{.layer = std::make_shared<InputLayer>(ImageExtents{1, 1, 1})},
           {.layer = relu, .inputs = {"0_Input"}}};
  const auto append = [&](bool in_block) {
    const std::string last = std::to_string(nodes.size() - 1) + "_Relu";
    nodes.push_back({.layer = relu, .inputs = {last}, .block = in_block ? last : ""});
  };
  while (nodes.size() < 66) append(true);
  EXPECT_EQ(ends_with(nodes), "fine");
  append(true);
  EXPECT_EQ(ends_with(nodes),
            "network \"net\", node \"66_Relu\": it is nested in more than 64 blocks");
  nodes.pop_back();
  while (nodes.size() < 65536) append(false);
  EXPECT_EQ(ends_with(nodes), "fine");
  append(false);
  EXPECT_EQ(ends_with(nodes), "network \"net\": has 65537 nodes, expected 1 to 65536");
}

TEST(GraphNodesTest, ALayerHas4096InputsAtMost) {
  std::vector<NodeSpec> nodes = {{.layer = std::make_shared<InputLayer>(ImageExtents{1, 1, 1})},
                                 {.layer = std::make_shared<AdditionLayer>(),
                                  .inputs = std::vector<std::string>(4096, "0_Input")}};
  EXPECT_EQ(Made(nodes).status(), absl::OkStatus());
  nodes[1].inputs.push_back("0_Input");
  EXPECT_THAT(std::string(Made(nodes).status().message()),
              ::testing::HasSubstr("it has 4097 inputs, more than 4096"));
}

TEST(GraphNodesTest, ATensorHas2To48ElementsAtMost) {
  const auto error = [](const ImageExtents& extents) {
    return std::string(Made({{.layer = std::make_shared<InputLayer>(extents)}}).status().message());
  };
  EXPECT_EQ(error({1 << 16, 1 << 16, 1 << 16}), "");
  EXPECT_THAT(error({1, 1, (int64_t{1} << 48) + 1}),
              ::testing::HasSubstr("has more than 2^48 elements"));
}

// Each tensor alone would be possible.
TEST(GraphNodesTest, TheSumOfAllSizesIsBounded) {
  std::vector<NodeSpec> nodes = {
      {.layer = std::make_shared<InputLayer>(ImageExtents{1 << 16, 1 << 16, 1 << 15})},
      {.layer = std::make_shared<ActivationLayer>(ActivationKind::kRelu), .inputs = {"0_Input"}}};
  EXPECT_TRUE(Made(nodes).ok());
  nodes.push_back({.layer = nodes[1].layer, .inputs = {"1_Relu"}});
  EXPECT_EQ(Made(nodes).status().message(),
            "network \"net\", node \"2_Relu\": with it, the network has more than 2^48 elements");
}

}  // namespace
}  // namespace dtnn
