#include "models/plan/layer_memory.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "gtest/gtest.h"
#include "models/graph/builder.h"
#include "models/parameters/parameter_store.h"
#include "models/plan/plan.h"
#include "models/zoo/zoo.h"
#include "optim/losses/categorical_cross_entropy.h"
#include "tensor/must.h"

namespace dtnn {
namespace {

constexpr int64_t kBatch = 3;

std::unique_ptr<ParameterStore> NewStore(const Graph& graph, DeviceContext& context) {
  auto store = Must(ParameterStore::Create(graph, context, DType::kFloat32, 1));
  EXPECT_TRUE(store->AllocateForTraining(context, 0).ok());
  return store;
}

struct Planned {
  Graph graph;
  std::unique_ptr<DeviceContext> context = Must(DeviceContext::Create(Device::Cpu()));
  std::unique_ptr<ParameterStore> store;
  CategoricalCrossEntropy loss;
  std::unique_ptr<Plan> plan;

  explicit Planned(Graph network)
      : graph(std::move(network)),
        store(NewStore(graph, *context)),
        plan(Must(Plan::Compile(graph, *store, *context,
                                {.batch = kBatch, .training = true, .loss = &loss}))) {}
  // The memory of the node of this name.
  LayerMemory Of(const std::string& name) const {
    const auto& nodes = graph.nodes();
    const auto node = std::ranges::find(nodes, name, &Node::name);
    EXPECT_NE(node, nodes.end()) << name;
    return plan->MemoryByLayer().at(size_t(node - nodes.begin()));
  }
};

TEST(LayerMemoryTest, EachByteOfTheArenaHasOneOwner) {
  for (const char* model : {"simplecnn", "resnet20_cifar10", "densenet_cifar10"}) {
    const Planned planned(Must(BuildModel(model, {})));
    const PlanLayout& layout = planned.plan->layout();
    size_t planned_bytes = 0, owned = 0, workspace = 0;
    for (size_t i = 0; i < layout.buffers.size(); ++i) {
      if (int(i) != layout.losses) planned_bytes += layout.buffers[i].bytes;
    }
    for (const LayerMemory& layer : planned.plan->MemoryByLayer()) {
      owned += layer.arena;
      workspace = std::max(workspace, layer.workspace);
    }
    EXPECT_EQ(owned, planned_bytes) << model;
    EXPECT_EQ(workspace, planned.plan->memory().workspace) << model;
    EXPECT_GT(workspace, 0u) << model;
  }
}

TEST(LayerMemoryTest, ALayerHasItsOutputTheGradientOfItAndItsState) {
  GraphBuilder b("chain", TensorFormat::kNHWC);
  b.Input({4, 4, 1}).Conv2d(2, {.padding = 1}).MaxPool2d({.stride = 2}).Flatten().Fc(3).Softmax();
  const Planned planned(Must(b.Build()));
  constexpr size_t kFloat = sizeof(float);
  EXPECT_EQ(planned.Of("0_Input").arena, 0u) << "the batch is the caller's";
  EXPECT_EQ(planned.Of("1_Conv2D").arena, 2 * kBatch * 32 * kFloat);
  // Which of four pixels was the largest takes a byte.
  EXPECT_EQ(planned.Of("2_MaxPool2D").arena, kBatch * 8 * kFloat + kBatch * 8);
  EXPECT_EQ(planned.Of("3_Flatten").arena, kBatch * 8 * kFloat) << "the gradient of the view";
}

TEST(LayerMemoryTest, LayersHaveTheirPartsOfAConcatenation) {
  GraphBuilder b("wide", TensorFormat::kNHWC);
  b.Input({4, 4, 1});
  b.Concat({[](GraphBuilder& path) { path.Conv2d(2, {.padding = 1}); },
            [](GraphBuilder& path) { path.Conv2d(5, {.padding = 1}); }});
  b.Flatten().Fc(3).Softmax();
  const Planned planned(Must(b.Build()));
  const size_t map = kBatch * 16 * sizeof(float);
  size_t two = 0, five = 0, concatenation = 0;
  for (size_t i = 0; i < planned.graph.nodes().size(); ++i) {
    const Node& node = planned.graph.nodes()[i];
    const size_t arena = planned.plan->MemoryByLayer()[i].arena;
    if (node.layer->type_name() == "Conv2D") (node.output[2] == 2 ? two : five) = arena;
    if (node.layer->type_name() == "ConcatenationBlock") concatenation = arena;
  }
  EXPECT_EQ(five - two, 3 * map) << "its gradient is read where the concatenation has it";
  EXPECT_EQ(two, 2 * map);
  EXPECT_EQ(concatenation, 0u);
}

TEST(LayerMemoryTest, AReluWithinAPartOfAConcatenationTakesNothingOfTheOtherPart) {
  GraphBuilder b("wide", TensorFormat::kNHWC);
  b.Input({4, 4, 1});
  b.Concat({[](GraphBuilder& path) { path.Conv2d(2, {.padding = 1}).Relu(); },
            [](GraphBuilder& path) { path.Conv2d(5, {.padding = 1}); }});
  b.Flatten().Fc(3).Softmax();
  const Planned planned(Must(b.Build()));
  for (size_t i = 0; i < planned.graph.nodes().size(); ++i) {
    const Node& node = planned.graph.nodes()[i];
    const size_t arena = planned.plan->MemoryByLayer()[i].arena;
    if (node.layer->type_name() == "Conv2D") {
      EXPECT_EQ(arena, size_t(kBatch * 16 * node.output[2]) * sizeof(float)) << node.name;
    }
    if (node.layer->type_name() == "Relu") {
      EXPECT_EQ(arena, 0u);
    }
  }
}

}  // namespace
}  // namespace dtnn
