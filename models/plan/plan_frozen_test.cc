// Plans of networks some of whose layers are frozen.

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "layers/activation.h"
#include "models/graph/builder.h"
#include "models/graph/freeze.h"
#include "models/testing/gradient_check.h"
#include "models/testing/plan_session.h"
#include "models/zoo/zoo.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using ::dtnn::testing::CheckNetworkGradients;
using ::dtnn::testing::Labels;
using ::dtnn::testing::PlanSession;
using ::dtnn::testing::RandomTensor;
using ::dtnn::testing::Values;

constexpr ImageExtents kImage = {6, 6, 2};

// Without normalisation, which changes the forward pass where it is frozen.
Graph PathsGraph(TensorFormat format) {
  GraphBuilder b("paths", format);
  const auto conv = [](GraphBuilder& p) {
    p.Conv2d(3, {.padding = 1}).Relu().Conv2d(3, {.kernel = 1});
  };
  b.Input(kImage).Conv2d(3, {.padding = 1}).Relu().Add({conv, GraphBuilder::Identity()}).Relu();
  b.Concat({conv, GraphBuilder::Identity()}).MaxPool2d({.stride = 2}).Dropout(0.3);
  b.Flatten().Fc(6).Tanh().Fc(4).Softmax();
  return *b.Build();
}

// Normalisations that apply the relu behind them, and others that have none behind them.
Graph NormalisedGraph(TensorFormat format) {
  GraphBuilder b("normalised", format);
  const auto block = [](GraphBuilder& p) {
    p.Conv2d(3, {.padding = 1, .bias = false}).BatchNorm().Relu();
    p.Conv2d(3, {.padding = 1, .bias = false}).BatchNorm();
  };
  b.Input(kImage).Conv2d(3, {.padding = 1, .bias = false}).BatchNorm().Relu();
  b.Add({block, GraphBuilder::Identity()}).Relu().BatchNorm().Tanh();
  b.MaxPool2d({.stride = 2}).Flatten().Fc(6).BatchNorm().Relu().Fc(4).Softmax();
  return *b.Build();
}

class PlanFrozenTest : public ::testing::TestWithParam<TensorFormat> {
 protected:
  Tensor Batch(int64_t n) const {
    return RandomTensor(DType::kFloat64, SampleShape(kImage, GetParam()).Prepend(n), 5);
  }
};
INSTANTIATE_TEST_SUITE_P(Formats, PlanFrozenTest,
                         ::testing::Values(TensorFormat::kNHWC, TensorFormat::kNCHW));

TEST_P(PlanFrozenTest, GradientsOfTheRestAreThoseOfTheWholeNetwork) {
  const Graph graph = PathsGraph(GetParam());
  PlanSession whole(graph, 4);
  ASSERT_TRUE(whole.plan->ForwardBackward(Batch(4), Labels(4), 0.25, 3).ok());
  for (const std::string_view pattern : {"1", "*Conv2D", "1-7", "*_FC", "4-20", "[13579]*"}) {
    PlanSession part(*Freeze(graph, pattern), 4);
    ASSERT_TRUE(part.plan->ForwardBackward(Batch(4), Labels(4), 0.25, 3).ok());
    EXPECT_EQ(part.plan->LossSum(), whole.plan->LossSum());
    int compared = 0;
    for (size_t n = 0; n < graph.nodes().size(); ++n) {
      if (part.graph.nodes()[n].frozen) continue;
      for (size_t p = 0; p < graph.nodes()[n].parameters.size(); ++p, ++compared) {
        EXPECT_EQ(Values(part.store->Gradient(int(n), int(p))),
                  Values(whole.store->Gradient(int(n), int(p))))
            << pattern << ", " << graph.nodes()[n].name;
      }
    }
    EXPECT_GT(compared, 0) << pattern;
  }
}

TEST_P(PlanFrozenTest, GradientsThroughFrozenNormalisations) {
  const Graph graph = NormalisedGraph(GetParam());
  for (const std::string_view pattern :
       {"*BatchNormalization", "2", "1-5", "8-30", "*Conv2D", "*FC"}) {
    EXPECT_TRUE(CheckNetworkGradients(*Freeze(graph, pattern), {.batch = 4})) << pattern;
  }
}

TEST_P(PlanFrozenTest, AFrozenNormalisationUsesAndKeepsItsRunningStatistics) {
  const Graph graph = *Freeze(NormalisedGraph(GetParam()), "*BatchNormalization");
  PlanSession run(graph, 8);
  ASSERT_TRUE(run.store->statistics().empty());
  // Other statistics than those that every normalisation begins with.
  for (size_t n = 0; n < graph.nodes().size(); ++n) {
    if (!graph.nodes()[n].frozen) continue;
    for (const int statistic : {2, 3}) {
      const Tensor value = run.store->Value(int(n), statistic);
      for (int64_t i = 0; i < value.num_elements(); ++i) {
        value.data<double>()[i] = statistic == 2 ? 0.25 : 0.125 * double(i);
      }
    }
  }
  const std::vector<double> before = Values(run.store->all_values());
  const auto evaluation = run.Compile(8, /*training=*/false);
  ASSERT_TRUE(run.plan->ForwardBackward(Batch(8), Labels(8), 1, 0).ok());
  ASSERT_TRUE(evaluation->Evaluate(Batch(8), Labels(8)).ok());
  EXPECT_EQ(Values(run.plan->predictions()), Values(evaluation->predictions()));
  EXPECT_EQ(Values(run.store->all_values()), before);
}

TEST_P(PlanFrozenTest, AFrozenParameterThatIsNaNIsFound) {
  PlanSession run(*Freeze(NormalisedGraph(GetParam()), "2"), 2);
  run.store->Value(2, 3).data<double>()[1] = std::nan("");
  EXPECT_EQ(*run.plan->FirstNonFinite(Batch(2), Labels(2), 0),
            "layer 2 (BatchNormalization): nan in running_mean");
}

// A tanh that counts what it is asked for.
struct Calls {
  int forward = 0, backward = 0, input_gradients = 0;
};

class CountingOp : public LayerOp {
 public:
  CountingOp(std::unique_ptr<LayerOp> op, Calls& calls) : op_(std::move(op)), calls_(calls) {}
  LayerOpTraits traits() const override { return op_->traits(); }
  absl::Status Forward(const ForwardArgs& args) override {
    ++calls_.forward;
    return op_->Forward(args);
  }
  absl::Status Backward(const BackwardArgs& args) override {
    ++calls_.backward;
    calls_.input_gradients += !args.dx[0].empty();
    return op_->Backward(args);
  }

 private:
  std::unique_ptr<LayerOp> op_;
  Calls& calls_;
};

class CountingTanh : public ActivationLayer {
 public:
  explicit CountingTanh(Calls& calls) : ActivationLayer(ActivationKind::kTanh), calls_(calls) {}
  absl::StatusOr<std::unique_ptr<LayerOp>> Bind(const BindContext& context) const override {
    auto op = ActivationLayer::Bind(context);
    if (!op.ok()) return op.status();
    return std::make_unique<CountingOp>(*std::move(op), calls_);
  }

 private:
  Calls& calls_;
};

TEST_P(PlanFrozenTest, NothingIsComputedBelowTheFirstLayerThatTrains) {
  Calls first, second, third;
  GraphBuilder b("counted", GetParam());
  b.Input(kImage).Conv2d(3).Append(std::make_shared<CountingTanh>(first));
  b.Conv2d(3).Append(std::make_shared<CountingTanh>(second)).Flatten();
  b.Fc(5).Append(std::make_shared<CountingTanh>(third)).Fc(4).Softmax();
  const Graph graph = *b.Build();
  const struct {
    const char* pattern;
    int first, second, third;  // backward passes
  } cases[] = {{"8", 1, 1, 1}, {"1", 0, 1, 1}, {"1-3", 0, 0, 1}, {"1-6", 0, 0, 0}, {"3", 1, 1, 1}};
  for (const auto& c : cases) {
    first = second = third = {};
    PlanSession run(*Freeze(graph, c.pattern), 2);
    ASSERT_TRUE(run.plan->ForwardBackward(Batch(2), Labels(2), 1, 0).ok());
    EXPECT_EQ(first.forward + second.forward + third.forward, 3);
    EXPECT_EQ(first.backward, c.first) << c.pattern;
    EXPECT_EQ(second.backward, c.second) << c.pattern;
    EXPECT_EQ(third.backward, c.third) << c.pattern;
    EXPECT_EQ(first.input_gradients, c.first) << c.pattern;
    EXPECT_EQ(second.input_gradients, c.second) << c.pattern;
  }
}

// What nobody needs any more makes room for what comes, as in evaluation.
TEST_P(PlanFrozenTest, OnlyTheHeadTrainsInTheMemoryOfAnEvaluation) {
  const Graph graph = *BuildModel("resnet20_cifar10", {.format = GetParam()});
  const Graph head = *Freeze(*Freeze(graph, "*Conv2D"), "*BatchNormalization");
  const auto measure = [&](const Graph& of, bool training) {
    PlanSession run(*BuildModel("simplecnn", {}), 1);
    return *Plan::Measure(
        of, DType::kFloat32, *run.device,
        {.batch = 32, .training = training, .loss = &run.loss, .fusions = Fusions::None()});
  };
  const PlanMemory whole = measure(graph, true), part = measure(head, true);
  const PlanMemory evaluation = measure(graph, false);
  EXPECT_LT(part.arena, whole.arena / 5);
  EXPECT_LE(part.arena, evaluation.arena + 32 * (64 + 10) * 2 * sizeof(float) + 4096);
  EXPECT_EQ(part.state, 0u);
}

}  // namespace
}  // namespace dtnn
