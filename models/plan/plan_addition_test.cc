// A normalisation, the sum of two after it and a relu as one operation: what they do apart, forward
// and backward, within rounding, in no more memory, on the CPU and on a GPU.

#include <algorithm>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/testing/gpu_testing.h"
#include "layers/merging/addition.h"
#include "models/graph/builder.h"
#include "models/graph/freeze.h"
#include "models/parameters/parameter_store.h"
#include "models/plan/fusion.h"
#include "models/plan/plan.h"
#include "models/testing/gradient_check.h"
#include "models/testing/plan_session.h"
#include "models/zoo/zoo.h"
#include "optim/losses/categorical_cross_entropy.h"
#include "optim/losses/losses.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using testing::CheckNetworkGradients;
using testing::Close;
using testing::Get;
using testing::Labels;
using testing::RandomTensor;
using testing::Values;

constexpr ImageExtents kImage = {6, 6, 4};

// A sum that stays a layer of its own.
class SumApart : public AdditionLayer {
 public:
  Epilogue absorbable() const override { return {}; }
};

Graph Apart(const Graph& graph) {
  std::vector<NodeSpec> nodes = graph.ToNodes();
  for (NodeSpec& node : nodes) {
    if (node.layer->absorbable().add) node.layer = std::make_shared<SumApart>();
  }
  return *Graph::FromNodes(graph.name(), graph.format(), nodes);
}

// Sums of all kinds, with the number of those that a normalisation takes.
Graph Sums(TensorFormat format) {
  const GraphBuilder::Path itself = GraphBuilder::Identity();
  const auto normalized = [](GraphBuilder& p) { p.Conv2d(4, {.padding = 1}).BatchNorm(); };
  const auto bare = [](GraphBuilder& p) { p.BatchNorm(); };
  const auto block = [](GraphBuilder& p) {
    p.Conv2d(4, {.padding = 1, .bias = false}).BatchNorm().Relu();
    p.Conv2d(4, {.padding = 1, .bias = false}).BatchNorm();
  };
  GraphBuilder b("sums", format);
  b.Input(kImage).Add({itself, normalized}).Relu();  // with the batch
  b.Add({block, itself}).Relu();
  b.Add({normalized, normalized}).Relu();  // the later one adds
  b.Add({itself, block});                  // no relu
  b.Add({itself, bare}).Relu();            // twice the same
  // Another path reads the addend after the sum, and one the sum beside its relu.
  b.Concat({[&](GraphBuilder& p) {
              p.Add({itself, block}).Relu();
            },
            itself,
            [&](GraphBuilder& p) {
              p.Add({itself, normalized}).Concat({[](GraphBuilder& q) { q.Relu(); }, itself});
            }});
  b.Conv2d(4, {.kernel = 1}).Dropout(0.2).Add({normalized, itself}).Relu().Dropout(0.2);
  b.MaxPool2d({.stride = 2}).Flatten().Fc(6).Tanh();
  b.Add({itself, [](GraphBuilder& p) { p.Fc(6).BatchNorm(); }}).Relu().Fc(4).Softmax();
  return *b.Build();
}

int Fused(const Graph& graph) {
  return int(std::ranges::count_if(FindFusions(graph, Fusions::None(), false),
                                   [](const Fusion& fusion) { return fusion.addition >= 0; }));
}

class PlanAdditionTest : public ::testing::TestWithParam<std::tuple<Device, TensorFormat>> {
 protected:
  void SetUp() override {
    DTNN_GPU_OR_SKIP_AT(device, std::get<0>(GetParam()));
    device_ = std::move(device);
  }

  struct Outcome {
    std::vector<double> predictions, gradients, statistics, evaluated;
  };
  // After two steps, the second with fewer samples.
  Outcome Run(const Graph& graph, DType dtype) {
    auto store = *ParameterStore::Create(graph, *device_, dtype, 3);
    EXPECT_EQ(store->AllocateForTraining(*device_, 0), absl::OkStatus());
    const auto compile = [&](bool training) {
      return *Plan::Compile(graph, *store, *device_,
                            {.batch = 5,
                             .training = training,
                             .loss = &loss_,
                             .random_seed = 9,
                             .fusions = Fusions::None()});
    };
    const auto training = compile(true), evaluation = compile(false);
    for (const int64_t n : {5, 4}) {
      const Tensor x = RandomTensor(dtype, SampleShape(kImage, graph.format()).Prepend(n), 7);
      EXPECT_EQ(training->ForwardBackward(x, Labels(n), 0.25, n), absl::OkStatus());
      EXPECT_EQ(evaluation->Evaluate(x, Labels(n)), absl::OkStatus());
    }
    return {Values(training->predictions()), Values(Get(*device_, store->gradients())),
            Values(Get(*device_, store->all_values())), Values(evaluation->predictions())};
  }

  const CategoricalCrossEntropy loss_;
  const TensorFormat format_ = std::get<1>(GetParam());
  std::unique_ptr<DeviceContext> device_;
};

TEST_P(PlanAdditionTest, SameAsApart) {
  const Graph graph = Sums(format_), apart = Apart(graph);
  EXPECT_EQ(Fused(graph), 9);
  EXPECT_EQ(Fused(apart), 0);
  const auto compare = [&](const Graph& one, const Graph& other) {
    for (const DType dtype : {DType::kFloat64, DType::kFloat32}) {
      const Outcome actual = Run(one, dtype), expected = Run(other, dtype);
      const double bound = dtype == DType::kFloat64 ? 1e-12 : 2e-4;
      EXPECT_TRUE(Close(actual.predictions, expected.predictions, bound));
      EXPECT_TRUE(Close(actual.gradients, expected.gradients, bound));
      EXPECT_TRUE(Close(actual.statistics, expected.statistics, bound));
      EXPECT_TRUE(Close(actual.evaluated, expected.evaluated, bound));
    }
  };
  compare(graph, apart);
  for (const char* pattern : {"*BatchNormalization", "1-12", "*Conv2D"}) {
    SCOPED_TRACE(pattern);
    compare(*Freeze(graph, pattern), *Freeze(apart, pattern));
  }
}

// But for the signs that a GPU keeps of NHWC outputs: a bit for each of their float32 numbers.
TEST_P(PlanAdditionTest, TakesNoMoreMemory) {
  for (const char* name : {"resnet20_cifar10", "resnet50_imagenet"}) {
    const Graph graph = *BuildModel(name, {.format = format_});
    for (const bool training : {false, true}) {
      const PlanOptions options = {
          .batch = 8, .training = training, .loss = &loss_, .fusions = Fusions::None()};
      const auto fused = Plan::Measure(graph, DType::kFloat32, *device_, options);
      const auto apart = Plan::Measure(Apart(graph), DType::kFloat32, *device_, options);
      ASSERT_TRUE(fused.ok() && apart.ok());
      const bool signs = training && !device_->device().is_cpu() && format_ == TensorFormat::kNHWC;
      const size_t most = signs ? apart->arena / 32 : 0;
      EXPECT_LE(fused->arena, apart->arena + most) << graph.name() << training;
      EXPECT_LE(fused->total(), apart->total() + most) << graph.name() << training;
    }
  }
}

// The gradient of the normalisation's input takes the memory of an output only where nobody reads
// that any more.
TEST_P(PlanAdditionTest, PredictionsAreThereAfterTheStep) {
  GraphBuilder b("ends with a sum", format_);
  b.Input(kImage).Flatten().Fc(4);
  b.Add({GraphBuilder::Identity(), [](GraphBuilder& p) { p.Fc(4).BatchNorm(); }}).Relu();
  const Graph graph = *b.Build();
  const auto loss = *MakeLoss("mse");
  auto store = *ParameterStore::Create(graph, *device_, DType::kFloat64, 3);
  ASSERT_EQ(store->AllocateForTraining(*device_, 0), absl::OkStatus());
  const auto plan =
      *Plan::Compile(graph, *store, *device_, {.batch = 5, .training = true, .loss = loss.get()});
  const Tensor x = RandomTensor(DType::kFloat64, SampleShape(kImage, format_).Prepend(5), 7);
  ASSERT_EQ(plan->Forward(x), absl::OkStatus());
  const std::vector<double> before = Values(plan->predictions());
  ASSERT_EQ(plan->ForwardBackward(x, RandomTensor(DType::kFloat64, {5, 4}, 2), 1, 0),
            absl::OkStatus());
  EXPECT_EQ(Values(plan->predictions()), before);
}

INSTANTIATE_TEST_SUITE_P(
    , PlanAdditionTest,
    ::testing::Combine(::testing::Values(Device::Cpu(), Device::Simulated(0), Device::Cuda(0)),
                       ::testing::Values(TensorFormat::kNHWC, TensorFormat::kNCHW)),
    [](const auto& info) {
      const DeviceType type = std::get<0>(info.param).type;
      return std::string(type == DeviceType::kCpu    ? "Cpu"
                         : type == DeviceType::kCuda ? "Cuda"
                                                     : "Simulated") +
             (std::get<1>(info.param) == TensorFormat::kNHWC ? "Nhwc" : "Nchw");
    });

// Central differences, of which the two ways know nothing.
TEST(PlanAdditionGradientsTest, AreTheCentralDifferences) {
  for (const TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
    EXPECT_TRUE(CheckNetworkGradients(Sums(format), {.batch = 4}));
    EXPECT_TRUE(CheckNetworkGradients(*Freeze(Sums(format), "*BatchNormalization"), {.batch = 4}));
  }
}

// The addend trains, and nothing before the normalisation: no backward pass of it would run.
TEST(PlanAdditionGradientsTest, ReachAnAddendBesideAFrozenPath) {
  GraphBuilder b("beside", TensorFormat::kNHWC);
  b.Input(kImage).Add({[](GraphBuilder& p) { p.Conv2d(4, {.padding = 1}); },
                       [](GraphBuilder& p) { p.Conv2d(4, {.padding = 1}).BatchNorm(); }});
  b.Relu().Flatten().Fc(4).Softmax();
  const Graph whole = *b.Build(), frozen = *Freeze(whole, "3-4");
  EXPECT_EQ(Fused(whole), 1);
  EXPECT_EQ(Fused(frozen), 0);
  EXPECT_TRUE(CheckNetworkGradients(frozen, {.batch = 4}));
}

}  // namespace
}  // namespace dtnn
