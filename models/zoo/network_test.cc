// Every network of the zoo as a message, and back.

#include "models/graph/network.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "models/graph/table.h"
#include "models/parameters/parameter_store.h"
#include "models/plan/plan.h"
#include "models/zoo/zoo.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

std::vector<std::string> AllModels() {
  std::vector<std::string> names;
  for (const ModelInfo& model : ZooModels()) names.emplace_back(model.name);
  return names;
}

std::vector<std::string> Keys(const Graph& graph) {
  std::vector<std::string> keys;
  for (const Node& node : graph.nodes()) {
    for (const ParameterSpec& parameter : node.parameters) {
      keys.push_back(Graph::WeightKey(node, parameter) + " " + parameter.shape.ToString() + " " +
                     std::string(Name(parameter.initializer.kind)));
    }
  }
  return keys;
}

class ZooNetworkTest : public ::testing::TestWithParam<std::string> {
 protected:
  static void ExpectComesBack(const ModelOptions& options) {
    const absl::StatusOr<Graph> graph = BuildModel(GetParam(), options);
    ASSERT_TRUE(graph.ok()) << graph.status();
    const absl::StatusOr<Graph> back = ParseNetwork(NetworkText(*graph));
    ASSERT_TRUE(back.ok()) << back.status();
    EXPECT_EQ(FormatTable(*back, DType::kFloat32, Device::Cpu()),
              FormatTable(*graph, DType::kFloat32, Device::Cpu()));
    EXPECT_EQ(Keys(*back), Keys(*graph));
    ASSERT_EQ(back->nodes().size(), graph->nodes().size());
    for (size_t i = 0; i < graph->nodes().size(); ++i) {
      EXPECT_EQ(back->nodes()[i].id, graph->nodes()[i].id);
      EXPECT_EQ(back->nodes()[i].inputs, graph->nodes()[i].inputs);
    }
  }
};
INSTANTIATE_TEST_SUITE_P(Models, ZooNetworkTest, ::testing::ValuesIn(AllModels()),
                         [](const auto& info) { return info.param; });

TEST_P(ZooNetworkTest, ComesBackWithItsTableAndItsKeys) { ExpectComesBack({}); }

TEST_P(ZooNetworkTest, ComesBackForOtherData) {
  const ModelOptions other = {.format = TensorFormat::kNCHW,
                              .sample = ImageExtents{96, 96, 3},
                              .classes = 7,
                              .final_activation = FinalActivation::kSigmoid};
  if (!BuildModel(GetParam(), other).ok()) {
    GTEST_SKIP() << GetParam() << " takes no other data";
  }
  ExpectComesBack(other);
}

// The same initial values and the same sums, in the same order.
TEST(NetworkOutputsTest, AreTheSameBitForBit) {
  const std::unique_ptr<DeviceContext> device = *DeviceContext::Create(Device::Cpu());
  for (const char* name : {"simplemlp", "simplecnn", "resnet20_cifar10", "vgg3dobn"}) {
    for (const TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
      const Graph graph = *BuildModel(name, {.format = format});
      const auto answers = [&](const Graph& net) {
        auto store = *ParameterStore::Create(net, *device, DType::kFloat32, 7);
        auto plan = *Plan::Compile(net, *store, *device, {.batch = 3});
        const Tensor x = testing::RandomTensor(DType::kFloat32, net.input_shape().Prepend(3), 5);
        EXPECT_TRUE(plan->Forward(x).ok());
        return testing::Values(plan->predictions());
      };
      EXPECT_EQ(answers(*ParseNetwork(NetworkText(graph))), answers(graph)) << name;
    }
  }
}

}  // namespace
}  // namespace dtnn
