// Blocks whose two paths end with a normalisation, and have strides and kernels of their own, train
// on a GPU as on the CPU, which computes one normalisation after the other: whatever the delays of
// its streams, and in memory that others take when it is free.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/testing/gpu_testing.h"
#include "models/graph/builder.h"
#include "models/parameters/parameter_store.h"
#include "models/plan/fusion.h"
#include "models/plan/plan.h"
#include "models/testing/plan_session.h"
#include "optim/losses/categorical_cross_entropy.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using testing::Close;
using testing::Get;
using testing::Labels;
using testing::RandomTensor;
using testing::Values;

constexpr ImageExtents kImage = {9, 8, 4};

void AppendBlock(GraphBuilder& b, int64_t filters, int64_t stride) {
  b.Add({[=](GraphBuilder& p) {
           p.Conv2d(filters, {.kernel = 3, .stride = stride, .padding = 1}).BatchNorm().Relu();
           p.Conv2d(filters, {.kernel = 3, .padding = 1, .bias = false}).BatchNorm();
         },
         [=](GraphBuilder& p) {
           p.Conv2d(filters, {.kernel = 1, .stride = stride, .bias = false});
           p.BatchNorm({.momentum = 0.7, .epsilon = 1e-3});
         }});
  b.Relu();
}

Graph Blocks(TensorFormat format) {
  GraphBuilder b("blocks", format);
  b.Input(kImage).Conv2d(6, {.padding = 1}).Relu();
  AppendBlock(b, 8, 1);
  AppendBlock(b, 10, 2);
  AppendBlock(b, 5, 2);  // no whole vectors
  b.Flatten().Fc(4).Softmax();
  return *b.Build();
}

struct Outcome {
  std::vector<double> predictions, gradients, values;
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

class PlanPairTest : public ::testing::TestWithParam<TensorFormat> {
 protected:
  std::unique_ptr<Plan> Compile(DeviceContext& device, ParameterStore& store) const {
    return *Plan::Compile(graph_, store, device,
                          {.batch = 5, .training = true, .loss = &loss_, .random_seed = 9});
  }
  std::unique_ptr<ParameterStore> MakeStore(DeviceContext& device) const {
    auto store = *ParameterStore::Create(graph_, device, DType::kFloat64, 3);
    EXPECT_EQ(store->AllocateForTraining(device, 0), absl::OkStatus());
    return store;
  }
  // After two steps, the second with fewer samples; with the calls of `ready`.
  Outcome Train(Device on, std::vector<int64_t>& calls) const {
    const auto device = *DeviceContext::Create(on);
    const auto store = MakeStore(*device);
    const auto plan = Compile(*device, *store);
    Outcome outcome;
    for (const int64_t n : {5, 3}) {
      calls.clear();
      const Tensor x = RandomTensor(DType::kFloat64, SampleShape(kImage, GetParam()).Prepend(n), 7);
      EXPECT_EQ(plan->ForwardBackward(x, Labels(n), 0.25, n,
                                      [&](int64_t from) { calls.push_back(from); }),
                absl::OkStatus());
      const std::vector<double> predictions = Values(plan->predictions());
      outcome.predictions.insert(outcome.predictions.end(), predictions.begin(), predictions.end());
    }
    outcome.gradients = Values(Get(*device, store->gradients()));
    outcome.values = Values(Get(*device, store->all_values()));
    return outcome;
  }

  const Graph graph_ = Blocks(GetParam());
  const CategoricalCrossEntropy loss_;
};

TEST_P(PlanPairTest, AsOnTheCpuWithAllDelays) {
  std::vector<int64_t> calls;
  const Outcome expected = Train(Device::Cpu(), calls);
  const Outcome actual = Train(Device::Simulated(0), calls);
  EXPECT_TRUE(Close(actual.predictions, expected.predictions, 1e-12));
  EXPECT_TRUE(Close(actual.gradients, expected.gradients, 1e-12, 1e-12));
  EXPECT_TRUE(Close(actual.values, expected.values, 1e-12));
  // Gradients become final from the end to the begin, those of pairs before their turn.
  EXPECT_TRUE(std::ranges::is_sorted(calls, std::greater()));
  EXPECT_EQ(calls.back(), 0);
  for (int seed = 0; seed < 4; ++seed) {
    EXPECT_EQ(Train(Device::Simulated(0), calls), actual) << seed;
  }
}

// What the op of a pair reads lives until then, and others take its memory after that. What would
// stand between the two has none.
TEST_P(PlanPairTest, KeepsWhatItReads) {
  const auto device = *DeviceContext::Create(Device::Simulated(0));
  const auto store = MakeStore(*device);
  const auto plan = Compile(*device, *store);
  const PlanLayout& layout = plan->layout();
  const int nodes = int(graph_.nodes().size());
  int pairs = 0, reused = 0;
  for (const Fusion& fusion : FindFusions(graph_, Fusions::None(), /*additions=*/false)) {
    if (!PairsNormalizations(graph_, fusion)) continue;
    ++pairs;
    const auto input = [&](int node) { return size_t(graph_.nodes()[size_t(node)].inputs[0]); };
    const size_t first = input(fusion.addend);
    EXPECT_EQ(layout.activation[size_t(fusion.addend)], layout.activation[first]);
    EXPECT_EQ(layout.gradient[size_t(fusion.addend)], layout.gradient[first]);
    const PlannedBuffer& read = layout.buffers[size_t(layout.activation[first].buffer)];
    EXPECT_GE(read.last, 2 * nodes - fusion.layer);
    reused += std::ranges::any_of(layout.buffers, [&](const PlannedBuffer& other) {
      return &other != &read && other.offset < read.offset + read.bytes &&
             read.offset < other.offset + other.bytes;
    });
  }
  EXPECT_EQ(pairs, 3);
  EXPECT_GT(reused, 0);
}

INSTANTIATE_TEST_SUITE_P(, PlanPairTest,
                         ::testing::Values(TensorFormat::kNHWC, TensorFormat::kNCHW));

}  // namespace
}  // namespace dtnn
