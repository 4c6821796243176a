// Biases that stand before a normalisation with the statistics of the batch: their gradients are
// not computed but 0, on the CPU and on a GPU; all others are what they were, to the bit.

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/testing/gpu_testing.h"
#include "layers/base/rank_exchange.h"
#include "models/graph/builder.h"
#include "models/graph/freeze.h"
#include "models/parameters/parameter_store.h"
#include "models/plan/plan.h"
#include "models/testing/plan_session.h"
#include "optim/losses/categorical_cross_entropy.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using testing::Get;
using testing::Labels;
using testing::RandomTensor;
using testing::Values;
using Keys = std::set<std::string>;

constexpr ImageExtents kImage = {6, 6, 2};

// Before a normalisation, and with something between or beside it.
Graph Network() {
  GraphBuilder b("biases", TensorFormat::kNHWC);
  b.Input(kImage).Conv2d(3, {.padding = 1}).BatchNorm().Relu();                          // 1 2 3
  b.Conv2d(0, {.padding = 1, .grouping = ConvGrouping::kDepthwise}).BatchNorm().Tanh();  // 4 5 6
  b.Conv2d(3, {.padding = 1}).Relu().BatchNorm();                                        // 7 8 9
  b.Conv2d(3, {.padding = 1}).Dropout(0.3).BatchNorm();                                  // 10 11 12
  b.Conv2d(4, {.padding = 1});                                      // 13, read twice
  b.Concat({[](GraphBuilder& p) { p.BatchNorm(); },                 // 14
            [](GraphBuilder& p) { p.Conv2d(2, {.kernel = 1}); },    // 15
            [](GraphBuilder& p) { p.Conv2d(2, {.kernel = 1}); }});  // 16
  b.BatchNorm().Conv2d(4, {.stride = 2}).AveragePool2d({}).Flatten();
  b.Fc(6).BatchNorm().Relu().Fc(4).Softmax();
  return *b.Build();
}

// One rank, which is all ranks.
class OneRank : public RankExchange {
 public:
  int rank() const override { return 0; }
  int ranks() const override { return 1; }
  absl::Status Sum(const Tensor&) override { return absl::OkStatus(); }
  absl::Status Gather(const Tensor& mine, const Tensor& all) override {
    std::ranges::copy(std::span(mine.data<double>(), size_t(mine.num_elements())),
                      all.data<double>());
    return absl::OkStatus();
  }
};

class PlanBiasGradientTest : public ::testing::TestWithParam<Device> {
 protected:
  void SetUp() override {
    DTNN_GPU_OR_SKIP_AT(device, GetParam());
    device_ = std::move(device);
  }

  // The gradients of two steps, the second with other parameters.
  std::unique_ptr<ParameterStore> Gradients(const Graph& graph, bool skips,
                                            RankExchange* ranks = nullptr) {
    auto store = *ParameterStore::Create(graph, *device_, DType::kFloat64, 3);
    EXPECT_EQ(store->AllocateForTraining(*device_, 0), absl::OkStatus());
    const auto plan = *Plan::Compile(graph, *store, *device_,
                                     {.batch = 5,
                                      .training = true,
                                      .loss = &loss_,
                                      .ranks = ranks,
                                      .skips_zero_gradients = skips});
    for (const int64_t n : {5, 4}) {
      const Tensor x =
          RandomTensor(DType::kFloat64, SampleShape(kImage, graph.format()).Prepend(n), 7);
      EXPECT_EQ(plan->ForwardBackward(x, Labels(n), 0.25, n), absl::OkStatus());
    }
    return store;
  }

  // Layers whose biases have a gradient that is exactly 0 with `store`, and is computed with
  // `computed`. All others have the same bits in both.
  Keys LeftAlone(const Graph& graph, const ParameterStore& store, const ParameterStore& computed) {
    Keys layers;
    for (size_t n = 0; n < graph.nodes().size(); ++n) {
      const std::vector<ParameterSpec>& parameters = graph.nodes()[n].parameters;
      for (size_t p = 0; p < parameters.size(); ++p) {
        if (!parameters[p].trainable) continue;
        const std::vector<double> gradient = Values(Get(*device_, store.Gradient(int(n), int(p))));
        const std::vector<double> full = Values(Get(*device_, computed.Gradient(int(n), int(p))));
        double most = 0;
        for (const double value : full) most = std::max(most, std::abs(value));
        EXPECT_GT(most, 0) << graph.nodes()[n].name;
        if (gradient == full) continue;
        EXPECT_EQ(gradient, std::vector<double>(full.size(), 0)) << graph.nodes()[n].name;
        EXPECT_LT(most, 1e-13) << graph.nodes()[n].name;
        EXPECT_EQ(parameters[p].name, "biases");
        layers.insert(graph.nodes()[n].name);
      }
    }
    return layers;
  }

  const CategoricalCrossEntropy loss_;
  std::unique_ptr<DeviceContext> device_;
};

TEST_P(PlanBiasGradientTest, IsZeroBeforeANormalisationOnly) {
  const Graph graph = Network();
  const Keys layers = LeftAlone(graph, *Gradients(graph, true), *Gradients(graph, false));
  EXPECT_EQ(layers, (Keys{"1_Conv2D", "4_Conv2D", "22_FC"}));
}

TEST_P(PlanBiasGradientTest, IsComputedBeforeANormalisationThatIsFrozen) {
  const Graph graph = *Freeze(Network(), "*BatchNormalization");
  EXPECT_EQ(LeftAlone(graph, *Gradients(graph, true), *Gradients(graph, false)), Keys());
}

// Where a batch has samples of several ranks, what is 0 is the sum of their gradients.
TEST_P(PlanBiasGradientTest, IsComputedWhereRanksNormaliseTogether) {
  if (GetParam() != Device::Cpu()) GTEST_SKIP() << "ranks exchange memory of the host";
  const Graph graph = Network();
  OneRank ranks;
  EXPECT_EQ(LeftAlone(graph, *Gradients(graph, true, &ranks), *Gradients(graph, false, &ranks)),
            Keys());
}

INSTANTIATE_TEST_SUITE_P(, PlanBiasGradientTest,
                         ::testing::Values(Device::Cpu(), Device::Simulated(0), Device::Cuda(0)),
                         [](const auto& info) {
                           const DeviceType type = info.param.type;
                           return type == DeviceType::kCpu    ? "Cpu"
                                  : type == DeviceType::kCuda ? "Cuda"
                                                              : "Simulated";
                         });

}  // namespace
}  // namespace dtnn
