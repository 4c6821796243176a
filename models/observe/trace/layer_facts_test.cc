#include "models/observe/trace/layer_facts.h"

#include "gtest/gtest.h"
#include "models/graph/builder.h"
#include "models/graph/freeze.h"

namespace dtnn {
namespace {

std::vector<LayerFacts> Facts(const Graph& graph, std::span<const std::string> algorithms = {}) {
  const auto device = *DeviceContext::Create(Device::Cpu());
  const auto store = *ParameterStore::Create(graph, *device, DType::kFloat32, 1);
  return DescribeLayers(graph, *store, {.algorithms = algorithms});
}

Graph Network() {
  GraphBuilder b("network", TensorFormat::kNHWC);
  b.Input({8, 8, 1}).Conv2d(4, {.padding = 1}).Relu().Flatten().Fc(10).Softmax();
  return *b.Build();
}

TEST(LayerFactsTest, WorkIsThatOfASample) {
  const std::vector<std::string> lines = {"layer 1 (Conv2D): forward winograd",
                                          "layer 14 (Conv2D): forward gemm"};
  const std::vector<LayerFacts> layers = Facts(Network(), lines);
  ASSERT_EQ(layers.size(), 6u);
  const LayerFacts& conv = layers[1];
  EXPECT_EQ(conv.id, 1);
  EXPECT_EQ(conv.name, "1_Conv2D");
  EXPECT_EQ(conv.type, "Conv2D");
  EXPECT_EQ(conv.algorithms, "forward winograd");
  EXPECT_EQ(conv.forward_flops, 2.0 * 8 * 8 * 4 * 9);
  EXPECT_EQ(conv.backward_flops, conv.forward_flops) << "nobody needs the gradient of the images";
  EXPECT_EQ(conv.forward_bytes, 4.0 * (64 + 256));
  EXPECT_EQ(conv.backward_bytes, 4.0 * (64 + 256));
  EXPECT_EQ(conv.parameter_bytes, 4.0 * (4 * 9 + 4));
  const LayerFacts& fc = layers[4];
  EXPECT_EQ(fc.type, "FC");
  EXPECT_EQ(fc.algorithms, "") << "lines are those of whole ids";
  EXPECT_EQ(fc.forward_flops, 2.0 * 256 * 10);
  EXPECT_EQ(fc.backward_flops, 2 * fc.forward_flops);
  EXPECT_EQ(fc.backward_bytes, 4.0 * (256 + 10 + 256));
  EXPECT_EQ(layers[2].backward_bytes, 4.0 * (256 + 256)) << "a relu's own input may be left";
}

TEST(LayerFactsTest, GradientsStandWhereTheStoreHasThem) {
  const std::vector<LayerFacts> layers = Facts(Network());
  EXPECT_EQ(layers[1].first_gradient, 0);
  EXPECT_GE(layers[1].last_gradient, 40);
  EXPECT_GE(layers[4].first_gradient, layers[1].last_gradient);
  EXPECT_GE(layers[4].last_gradient - layers[4].first_gradient, 256 * 10 + 10);
  EXPECT_EQ(layers[2].first_gradient, layers[2].last_gradient);
}

TEST(LayerFactsTest, MemoryIsThatOfTrainingAndOfThePlan) {
  const Graph graph = *Freeze(Network(), "1");
  const auto device = *DeviceContext::Create(Device::Cpu());
  const auto store = *ParameterStore::Create(graph, *device, DType::kFloat32, 1);
  EXPECT_EQ(DescribeLayers(graph, *store)[4].held_parameter_bytes, 4.0 * 2570) << "values alone";
  ASSERT_TRUE(store->AllocateForTraining(*device, /*slots=*/2).ok());
  std::vector<LayerMemory> memory(6);
  memory[1] = {.id = 1, .arena = 1000, .workspace = 70};
  const std::vector<LayerFacts> layers = DescribeLayers(graph, *store, {.memory = memory});
  EXPECT_EQ(layers[1].arena_bytes, 1000);
  EXPECT_EQ(layers[1].workspace_bytes, 70);
  EXPECT_EQ(layers[1].held_parameter_bytes, 4.0 * 40) << "frozen";
  EXPECT_EQ(layers[4].held_parameter_bytes, 4 * 4.0 * 2570) << "gradients and two slots as well";
  EXPECT_EQ(layers[4].parameter_bytes, 4.0 * 2570);
}

TEST(LayerFactsTest, FrozenLayersHaveNoGradients) {
  const std::vector<LayerFacts> layers = Facts(*Freeze(Network(), "1"));
  EXPECT_EQ(layers[1].last_gradient, layers[1].first_gradient);
  EXPECT_EQ(layers[1].backward_flops, 0);
  EXPECT_EQ(layers[4].first_gradient, 0);
  EXPECT_EQ(layers[4].backward_flops, layers[4].forward_flops) << "of the parameters alone";
}

}  // namespace
}  // namespace dtnn
