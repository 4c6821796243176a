// Every network of the zoo for small images runs: a first forward pass, as training does it.

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "models/parameters/parameter_store.h"
#include "models/plan/plan.h"
#include "models/zoo/zoo.h"
#include "optim/losses/categorical_cross_entropy.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

// Without those that are another one's literal form without its suffix.
std::vector<std::string> SmallModels() {
  std::vector<std::string> names;
  for (const ModelInfo& model : ZooModels()) {
    const std::string literal = std::string(model.name) + "_cifar10";
    const bool twin = std::ranges::any_of(
        ZooModels(), [&](const ModelInfo& other) { return other.name == literal; });
    if (IsSmall(model.data.sample) && !twin) names.emplace_back(model.name);
  }
  return names;
}

class ForwardTest : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Zoo, ForwardTest, ::testing::ValuesIn(SmallModels()),
                         [](const auto& info) { return info.param; });

TEST_P(ForwardTest, RowsOfProbabilitiesInBothFormats) {
  const CategoricalCrossEntropy loss;
  const std::unique_ptr<DeviceContext> device = *DeviceContext::Create(Device::Cpu());
  for (TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
    const Graph graph = *BuildModel(GetParam(), {.format = format});
    auto store = *ParameterStore::Create(graph, *device, DType::kFloat32, 1);
    ASSERT_TRUE(store->AllocateForTraining(*device, 0).ok());
    const auto plan =
        Plan::Compile(graph, *store, *device, {.batch = 2, .training = true, .loss = &loss});
    ASSERT_TRUE(plan.ok()) << plan.status();
    const Tensor x = testing::RandomTensor(DType::kFloat32, graph.input_shape().Prepend(2), 5);
    const absl::Status status = (*plan)->Forward(x);
    ASSERT_TRUE(status.ok()) << status;
    const Tensor& predictions = (*plan)->predictions();
    ASSERT_EQ(predictions.shape(), (Shape{2, 10}));
    const std::vector<double> rows = testing::Values(predictions);
    for (size_t row : {0, 1}) {
      double sum = 0;
      for (size_t i = 0; i < 10; ++i) sum += rows[row * 10 + i];
      EXPECT_NEAR(sum, 1, 1e-5);
    }
    EXPECT_NE(rows[0], rows[10]) << "the samples make no difference";
  }
}

}  // namespace
}  // namespace dtnn
