#include "models/plan/plan.h"

#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "layers/activation.h"
#include "models/graph/builder.h"
#include "models/parameters/parameter_store.h"
#include "models/testing/gradient_check.h"
#include "models/testing/plan_session.h"
#include "optim/losses/binary_cross_entropy.h"
#include "optim/losses/categorical_cross_entropy.h"
#include "tensor/threads/parallel_for.h"
#include "tools/testing/count_allocations.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using ::dtnn::testing::CheckNetworkGradients;
using ::dtnn::testing::Close;
using ::dtnn::testing::Labels;
using ::dtnn::testing::PlanSession;
using ::dtnn::testing::RandomTensor;
using ::dtnn::testing::TensorOf;
using ::dtnn::testing::Values;

// A network with everything that the memory layout treats specially: a relu that a convolution
// absorbs, identities into and out of blocks, nested blocks, in-place and out-of-place activations,
// views, and gradients that several consumers add to.
Graph TangledGraph(TensorFormat format, double dropout = 0) {
  GraphBuilder b("tangled", format);
  b.Input({6, 6, 2}).Conv2d(3, {.padding = 1}).Relu();
  b.Add({[](GraphBuilder& p) { p.Conv2d(3, {.padding = 1}).Tanh().Conv2d(3, {.kernel = 1}); },
         GraphBuilder::Identity()});
  b.Relu();
  b.Concat({[](GraphBuilder& p) { p.Relu().Conv2d(2, {.kernel = 1}).Sigmoid(); },
            GraphBuilder::Identity(),
            [](GraphBuilder& p) {
              p.Add({GraphBuilder::Identity(), [](GraphBuilder& q) { q.Tanh(); }});
            }});
  b.MaxPool2d({.stride = 2}).AveragePool2d({.window = 2});
  b.Flatten().Tanh();
  if (dropout > 0) b.Dropout(dropout);
  b.Fc(5).Relu().Fc(4).Softmax();
  return *b.Build();
}

// The losses of the same images in two steps of training that change no parameter.
std::vector<double> LossesIn(TensorFormat format, const GraphBuilder::Path& layers) {
  const ImageExtents extents = {5, 4, 3};
  const int64_t n = 3, pixels = extents.height * extents.width;
  GraphBuilder b("formats", format);
  b.Input({extents.height, extents.width, extents.channels});
  layers(b);
  PlanSession run(*b.Fc(4).Softmax().Build(), n);
  std::vector<double> images = Values(RandomTensor(DType::kFloat64, {n, pixels, 3}, 8));
  if (format == TensorFormat::kNCHW) {
    const std::vector<double> nhwc = images;
    for (int64_t i = 0; i < n * pixels * 3; ++i) {
      const int64_t sample = i / (3 * pixels), pixel = i / 3 % pixels, channel = i % 3;
      images[size_t((sample * 3 + channel) * pixels + pixel)] = nhwc[size_t(i)];
    }
  }
  const Tensor x = TensorOf(DType::kFloat64, SampleShape(extents, format).Prepend(n), images);
  std::vector<double> losses;
  for (const int64_t step : {0, 1}) {
    EXPECT_EQ(run.plan->ForwardBackward(x, Labels(n), 1, step), absl::OkStatus());
    for (const double loss : Values(run.plan->device_losses())) losses.push_back(loss);
  }
  return losses;
}

// Wherever it stands: after a convolution, on the elements of an image, on plain features.
TEST(PlanFormatsTest, DropoutDropsTheSameInBothFormats) {
  const GraphBuilder::Path networks[] = {
      [](GraphBuilder& b) { b.Conv2d(6, {.padding = 1}).Relu().Dropout(.5).Flatten(); },
      [](GraphBuilder& b) { b.Conv2d(5, {.padding = 1}).Flatten().Tanh().Dropout(.5); },
      [](GraphBuilder& b) { b.Dropout(.3).Conv2d(2).Flatten().Fc(7).Dropout(.5); },
  };
  for (const GraphBuilder::Path& layers : networks) {
    const std::vector<double> nhwc = LossesIn(TensorFormat::kNHWC, layers);
    EXPECT_TRUE(Close(LossesIn(TensorFormat::kNCHW, layers), nhwc, 1e-12)) << &layers - networks;
  }
}

class PlanTest : public ::testing::TestWithParam<TensorFormat> {
 protected:
  Tensor Batch(int64_t n, DType dtype = DType::kFloat64, uint64_t seed = 5) const {
    return RandomTensor(dtype, SampleShape({6, 6, 2}, GetParam()).Prepend(n), seed);
  }
};
INSTANTIATE_TEST_SUITE_P(Formats, PlanTest,
                         ::testing::Values(TensorFormat::kNHWC, TensorFormat::kNCHW));

TEST_P(PlanTest, GradientsOfAWholeNetwork) {
  for (double dropout : {0.0, 0.4}) {
    EXPECT_TRUE(CheckNetworkGradients(TangledGraph(GetParam(), dropout), {.elements = 40}));
  }
}

TEST_P(PlanTest, AValueMayEnterABlockSeveralTimes) {
  const GraphBuilder::Path same = GraphBuilder::Identity();
  const GraphBuilder::Path tanh = [](GraphBuilder& p) { p.Tanh(); };
  const GraphBuilder::Path relu = [](GraphBuilder& p) { p.Relu(); };
  GraphBuilder b("repeated", GetParam());
  // The convolution must not absorb a relu that is not its only reader.
  b.Input({6, 6, 2}).Conv2d(2, {.kernel = 1}).Add({relu, same});
  b.Add({same, same}).Add({same, tanh, same});
  b.Concat({same, tanh, same}).Concat({same, same}).Flatten().Fc(4).Softmax();
  EXPECT_TRUE(CheckNetworkGradients(*b.Build(), {.batch = 2, .elements = 40}));
}

// The first paths have nothing to train: no gradient flows into them.
TEST_P(PlanTest, BlocksOfTheBatchItself) {
  const GraphBuilder::Path same = GraphBuilder::Identity();
  const GraphBuilder::Path pool = [](GraphBuilder& p) { p.MaxPool2d({.window = 3, .padding = 1}); };
  const GraphBuilder::Path conv = [](GraphBuilder& p) { p.Conv2d(2, {.padding = 1}).Relu(); };
  GraphBuilder b("early", GetParam());
  b.Input({6, 6, 2}).Add({same, pool, same}).Concat({same, conv, pool, same, conv});
  b.Add({conv, conv}).Flatten().Fc(4).Softmax();
  EXPECT_TRUE(CheckNetworkGradients(*b.Build(), {.batch = 2, .elements = 40}));
}

// The loss then reads probabilities instead of logits.
TEST_P(PlanTest, TheLastLayerNeedNotBeASoftmax) {
  GraphBuilder b("sigmoid", GetParam());
  b.Input({6, 6, 2}).Conv2d(2).Relu().Flatten().Fc(4).Sigmoid();
  EXPECT_TRUE(CheckNetworkGradients(*b.Build(), {.batch = 2, .elements = 40}));
}

// Binary cross entropy that leaves the sigmoid before it alone.
class FromProbabilities : public BinaryCrossEntropy {
 public:
  FinalActivation absorbs() const override { return FinalActivation::kOther; }
};

TEST_P(PlanTest, ALossThatTakesTheSigmoidOverGivesTheSameGradients) {
  GraphBuilder b("labels", GetParam());
  b.Input({6, 6, 2}).Conv2d(2).Relu().Flatten().Fc(4).Sigmoid();
  const Tensor targets = TensorOf(DType::kFloat64, {2, 4}, {1, 0, 1, 0.5, 0, 0, 1, 1});
  const BinaryCrossEntropy from_logits;
  const FromProbabilities from_probabilities;
  PlanSession run(*b.Build(), 2);
  std::vector<double> predictions, gradients, losses;
  for (const Loss* loss :
       {static_cast<const Loss*>(&from_logits), static_cast<const Loss*>(&from_probabilities)}) {
    const auto plan = *Plan::Compile(run.graph, *run.store, *run.device,
                                     {.batch = 2, .training = true, .loss = loss});
    ASSERT_EQ(plan->ForwardBackward(Batch(2), targets, 0.5, 0), absl::OkStatus());
    losses.push_back(plan->LossSum());
    if (predictions.empty()) {
      predictions = Values(plan->predictions());
      gradients = Values(run.store->gradients());
    }
    EXPECT_TRUE(Close(Values(plan->predictions()), predictions, 1e-14));
    EXPECT_TRUE(Close(Values(run.store->gradients()), gradients, 1e-14));
  }
  EXPECT_NEAR(losses[0], losses[1], 1e-13);
  EXPECT_NE(gradients, std::vector<double>(gradients.size()));
}

// A tanh under a relu's name.
class Misnamed : public ActivationLayer {
 public:
  Misnamed() : ActivationLayer(ActivationKind::kTanh) {}
  std::string_view type_name() const override { return "Relu"; }
};

TEST_P(PlanTest, NamesOfLayersDecideNothing) {
  const auto predict = [&](std::shared_ptr<const Layer> layer) {
    GraphBuilder b("names", GetParam());
    b.Input({6, 6, 2}).Conv2d(3).Append(std::move(layer)).Flatten().Fc(4).Softmax();
    PlanSession run(*b.Build(), 2);
    EXPECT_TRUE(run.plan->Evaluate(Batch(2), Labels(2)).ok());
    return Values(run.plan->predictions());
  };
  EXPECT_EQ(predict(std::make_shared<Misnamed>()),
            predict(std::make_shared<ActivationLayer>(ActivationKind::kTanh)));
}

// A relu that no plan knows for one.
class HiddenRelu : public Layer {
 public:
  std::string_view type_name() const override { return "Relu"; }
  absl::StatusOr<Shape> OutputShape(std::span<const Shape> inputs,
                                    TensorFormat format) const override {
    return relu_.OutputShape(inputs, format);
  }
  absl::StatusOr<std::unique_ptr<LayerOp>> Bind(const BindContext& context) const override {
    return relu_.Bind(context);
  }

 private:
  ActivationLayer relu_{ActivationKind::kRelu};
};

// A max pooling applies the gradient of a relu before it, and its input need not be kept.
TEST_P(PlanTest, ReluBeforePoolingHasTheSameGradientAndTakesNoMemory) {
  const auto make = [&](bool hidden) {
    const auto relu = [=](GraphBuilder& p) {
      hidden ? p.Append(std::make_shared<HiddenRelu>()) : p.Relu();
    };
    GraphBuilder b("pools", GetParam());
    b.Input({12, 12, 2}).Conv2d(4, {.padding = 1});
    relu(b);
    b.MaxPool2d({.stride = 2}).Dropout(0.3);  // in place over what the backward pass needs?
    b.Concat({[&](GraphBuilder& p) {
                p.Conv2d(5, {.padding = 1});
                relu(p);
                p.MaxPool2d({.window = 3, .padding = 1});  // windows that overlap
              },
              GraphBuilder::Identity()});
    b.Conv2d(3, {.kernel = 1});
    relu(b);  // of which a pooling is not the only reader
    b.Concat({[](GraphBuilder& p) { p.MaxPool2d({.window = 3, .padding = 1}); },
              GraphBuilder::Identity()});
    b.Tanh().Flatten().Fc(4).Softmax();
    return *b.Build();
  };
  PlanSession known(make(false), 3), hidden(make(true), 3);
  const Tensor x =
      RandomTensor(DType::kFloat64, SampleShape({12, 12, 2}, GetParam()).Prepend(3), 6);
  ASSERT_TRUE(known.plan->ForwardBackward(x, Labels(3), 1, 1).ok());
  ASSERT_TRUE(hidden.plan->ForwardBackward(x, Labels(3), 1, 1).ok());
  EXPECT_EQ(Values(known.plan->predictions()), Values(hidden.plan->predictions()));
  EXPECT_EQ(Values(known.store->gradients()), Values(hidden.store->gradients()));
  EXPECT_LT(known.plan->memory().total(), hidden.plan->memory().total());
  EXPECT_TRUE(CheckNetworkGradients(make(false)));
}

TEST_P(PlanTest, ASmallerBatchIsTheSameAsAPlanOfItsSize) {
  PlanSession large(TangledGraph(GetParam()), 5), small(TangledGraph(GetParam()), 2);
  const Tensor labels = Labels(2), x = Batch(2);
  ASSERT_TRUE(large.plan->ForwardBackward(Batch(5, DType::kFloat64, 9), Labels(5), 1, 0).ok());
  ASSERT_TRUE(large.plan->ForwardBackward(x, labels, 1, 0).ok());
  ASSERT_TRUE(small.plan->ForwardBackward(x, labels, 1, 0).ok());
  EXPECT_TRUE(Close(large.plan->predictions(), small.plan->predictions(), 1e-14));
  EXPECT_TRUE(Close(large.store->gradients(), small.store->gradients(), 1e-14));
  EXPECT_NEAR(large.plan->LossSum(), small.plan->LossSum(), 1e-14);
  EXPECT_EQ(large.plan->predictions().shape(), (Shape{2, 4}));
}

TEST_P(PlanTest, TrainingAndEvaluationAgreeWithoutDropout) {
  PlanSession run(TangledGraph(GetParam()), 4);
  const auto evaluation = run.Compile(4, /*training=*/false);
  const Tensor x = Batch(4), labels = Labels(4);
  ASSERT_TRUE(run.plan->ForwardBackward(x, labels, 1, 0).ok());
  const std::vector<double> trained = Values(run.plan->predictions());
  ASSERT_TRUE(evaluation->Evaluate(x, labels).ok());
  EXPECT_TRUE(Close(Values(evaluation->predictions()), trained, 1e-14));
  EXPECT_NEAR(evaluation->LossSum(), run.plan->LossSum(), 1e-13);
  ASSERT_TRUE(evaluation->Forward(x).ok());
  EXPECT_TRUE(Close(Values(evaluation->predictions()), trained, 1e-12));
  EXPECT_LT(evaluation->memory().arena, run.plan->memory().arena);
}

TEST_P(PlanTest, PlansSeeEachOthersParameters) {
  PlanSession run(TangledGraph(GetParam()), 2);
  const auto other = run.Compile(2, /*training=*/false);
  const Tensor x = Batch(2), labels = Labels(2);
  ASSERT_TRUE(other->Evaluate(x, labels).ok());
  const double before = other->LossSum();
  const Tensor values = run.store->values();
  for (int64_t i = 0; i < values.num_elements(); ++i) values.data<double>()[i] *= 1.5;
  run.store->MarkChanged();
  ASSERT_TRUE(other->Evaluate(x, labels).ok());
  EXPECT_NE(other->LossSum(), before);
}

TEST_P(PlanTest, SameBitsOnAnyNumberOfThreads) {
  std::vector<double> first;
  for (int threads : {1, 2, 4}) {
    SetNumThreads(threads);
    PlanSession run(TangledGraph(GetParam(), 0.3), 7, DType::kFloat32);
    ASSERT_TRUE(run.plan->ForwardBackward(Batch(7, DType::kFloat32), Labels(7), 1.0 / 7, 3).ok());
    const std::vector<double> gradients = Values(run.store->gradients());
    if (first.empty()) first = gradients;
    EXPECT_EQ(gradients, first) << threads << " threads";
  }
}

TEST_P(PlanTest, StepsAllocateNothing) {
  PlanSession run(TangledGraph(GetParam(), 0.3), 8, DType::kFloat32);
  const Tensor x = Batch(8, DType::kFloat32), labels = Labels(8);
  const Tensor smaller = Batch(5, DType::kFloat32), fewer = Labels(5);
  // The first step of a thread may set up what stays (BLIS's buffers, the team of threads).
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(run.plan->ForwardBackward(x, labels, 1, i).ok());
  ASSERT_TRUE(run.plan->ForwardBackward(smaller, fewer, 1, 2).ok());
  const dtnn::testing::AllocationCounter counter;
  absl::Status status;
  for (int i = 0; i < 5 && status.ok(); ++i) {
    run.store->MarkChanged();
    status = run.plan->ForwardBackward(x, labels, 1, i);
    if (status.ok()) status = run.plan->ForwardBackward(smaller, fewer, 1, i);
  }
  EXPECT_EQ(counter.count(), 0);
  EXPECT_TRUE(status.ok()) << status;
}

// With the same results, bit for bit; every step allocates as often.
TEST_P(PlanTest, WorkspacesMayBeAllocatedForEachCall) {
  const Graph graph = TangledGraph(GetParam(), 0.3);
  const Tensor x = Batch(8, DType::kFloat32), labels = Labels(8);
  PlanSession kept(graph, 8, DType::kFloat32), anew(graph, 8, DType::kFloat32);
  WorkspaceUse use;
  anew.plan =
      *Plan::Compile(graph, *anew.store, *anew.device,
                     {.batch = 8, .training = true, .loss = &anew.loss, .workspaces = &use});
  EXPECT_EQ(anew.plan->memory().total(), kept.plan->memory().total());
  int64_t bytes = 0;
  for (const LayerMemory& layer : kept.plan->MemoryByLayer()) bytes += int64_t(layer.workspace);
  std::array<int64_t, 3> allocations;
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(kept.plan->ForwardBackward(x, labels, 1, i).ok());
    const WorkspaceUse before = use;
    const dtnn::testing::AllocationCounter counter;
    const absl::Status status = anew.plan->ForwardBackward(x, labels, 1, i);
    ASSERT_TRUE(status.ok()) << status;
    allocations[size_t(i)] = use.allocations - before.allocations;
    EXPECT_GE(counter.count(), allocations[size_t(i)]);
    EXPECT_GE(use.bytes - before.bytes, bytes);
    EXPECT_EQ(Values(anew.plan->predictions()), Values(kept.plan->predictions()));
    EXPECT_EQ(Values(anew.store->gradients()), Values(kept.store->gradients()));
  }
  EXPECT_GT(allocations[0], 0);
  EXPECT_EQ(allocations[1], allocations[0]);
  EXPECT_EQ(allocations[2], allocations[0]);
}

TEST_P(PlanTest, RefusesBatchesThatDoNotFit) {
  PlanSession run(TangledGraph(GetParam()), 2);
  const absl::Status too_many = run.plan->Forward(Batch(3));
  EXPECT_EQ(too_many.code(), absl::StatusCode::kInvalidArgument) << too_many;
  EXPECT_FALSE(run.plan->Forward(Batch(2, DType::kFloat32)).ok());
  EXPECT_FALSE(run.plan->Forward(RandomTensor(DType::kFloat64, Shape{2, 6, 6, 3}, 1)).ok());
  EXPECT_FALSE(run.plan->Evaluate(Batch(2), Labels(1)).ok());
  const Tensor wide =
      RandomTensor(DType::kFloat64, SampleShape({6, 6, 4}, GetParam()).Prepend(2), 1);
  EXPECT_FALSE(run.plan->Forward(wide.Channels(0, 2, GetParam())).ok());
}

TEST_P(PlanTest, RefusesLabelsThatAreNoClass) {
  PlanSession run(TangledGraph(GetParam()), 2);
  for (double label : {-1.0, 4.0}) {
    const Tensor labels = TensorOf(DType::kInt32, Shape{2}, {3, label});
    const absl::Status status = run.plan->ForwardBackward(Batch(2), labels, 1, 0);
    EXPECT_EQ(status.message(), absl::StrCat("sample 1 of the batch has label ", label,
                                             ", but the network has 4 classes"));
    EXPECT_FALSE(run.plan->Evaluate(Batch(2), labels).ok());
  }
}

// Another optimizer over the same store must not pull the gradients from under a plan.
TEST_P(PlanTest, GradientsStayWhereAPlanExpectsThem) {
  PlanSession run(TangledGraph(GetParam()), 2);
  ASSERT_TRUE(run.store->AllocateForTraining(*run.device, 2).ok());
  ASSERT_TRUE(run.plan->ForwardBackward(Batch(2), Labels(2), 1, 0).ok());
  double sum = 0;
  for (double gradient : Values(run.store->gradients())) sum += gradient * gradient;
  EXPECT_GT(sum, 0);
}

TEST_P(PlanTest, MemoryIsKnownBeforeItIsAllocated) {
  const Graph graph = TangledGraph(GetParam());
  PlanSession run(graph, 5, DType::kFloat32);
  for (bool training : {true, false}) {
    const PlanMemory allocated = run.Compile(5, training)->memory();
    const PlanMemory planned = *Plan::Measure(
        graph, DType::kFloat32, *run.device, {.batch = 5, .training = training, .loss = &run.loss});
    EXPECT_EQ(planned.activations, allocated.activations);
    EXPECT_EQ(planned.gradients, allocated.gradients);
    EXPECT_EQ(planned.state, allocated.state);
    EXPECT_EQ(planned.arena, allocated.arena);
    EXPECT_EQ(planned.workspace, allocated.workspace);
    EXPECT_EQ(planned.kept, allocated.kept);
    EXPECT_EQ(planned.kept > 0, !training);
    EXPECT_GT(planned.activations, 0u);
    EXPECT_EQ(planned.gradients > 0, training);
    EXPECT_GE(planned.arena, planned.activations + planned.gradients + planned.state);
    EXPECT_EQ(planned.total(), planned.arena + planned.workspace + planned.kept);
  }
  // Also where no machine has it.
  const auto huge = Plan::Measure(graph, DType::kFloat32, *run.device, {.batch = int64_t{1} << 24});
  ASSERT_TRUE(huge.ok()) << huge.status();
  EXPECT_GT(huge->arena, size_t{1} << 33);
}

TEST(PlanCompileTest, RefusesWhatNoMachineHolds) {
  const Graph graph = TangledGraph(TensorFormat::kNHWC);
  PlanSession run(graph, 1);
  for (int64_t batch : {int64_t{1} << 45, int64_t{1} << 62}) {
    const absl::Status status =
        Plan::Compile(graph, *run.store, *run.device, {.batch = batch}).status();
    EXPECT_FALSE(status.ok());
    EXPECT_NE(status.message().find(absl::StrCat(batch)), std::string::npos) << status;
  }
}

TEST(PlanCompileTest, TrainingNeedsTheGradientsFirst) {
  const Graph graph = TangledGraph(TensorFormat::kNHWC);
  auto device = *DeviceContext::Create(Device::Cpu());
  auto store = *ParameterStore::Create(graph, *device, DType::kFloat32, 1);
  const CategoricalCrossEntropy loss;
  const absl::Status status =
      Plan::Compile(graph, *store, *device, {.batch = 1, .training = true, .loss = &loss}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
}

TEST(PlanCompileTest, RefusesNonsense) {
  const Graph graph = TangledGraph(TensorFormat::kNHWC);
  PlanSession run(graph, 1);
  EXPECT_FALSE(Plan::Compile(graph, *run.store, *run.device, {.batch = 0}).ok());
  EXPECT_FALSE(Plan::Compile(graph, *run.store, *run.device, {.batch = 1, .training = true}).ok());
  const absl::Status variant =
      Plan::Compile(graph, *run.store, *run.device, {.batch = 1, .conv_variant = "magic"}).status();
  EXPECT_NE(variant.message().find("layer 1 (Conv2D)"), std::string::npos) << variant;
}

}  // namespace
}  // namespace dtnn
