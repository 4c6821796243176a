// Batch normalisation inside whole networks: it changes parameters in its forward pass, couples the
// samples of a batch, and takes over the backward pass of a relu that follows it.

#include <memory>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "models/graph/builder.h"
#include "models/testing/gradient_check.h"
#include "models/testing/plan_session.h"
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
using ::dtnn::testing::Values;

constexpr ImageExtents kImage = {6, 6, 2};

// Normalisations with and without a relu behind them, where memory is shared: at the ends of paths,
// before a dropout that runs in place, before a relu that others read beside, and of vectors.
Graph ResidualGraph(TensorFormat format, double dropout = 0) {
  GraphBuilder b("residual", format);
  const auto block = [](GraphBuilder& p) {
    p.Conv2d(4, {.padding = 1, .bias = false}).BatchNorm().Relu();
    p.Conv2d(4, {.padding = 1, .bias = false}).BatchNorm();
  };
  b.Input(kImage).BatchNorm().Conv2d(4, {.padding = 1, .bias = false}).BatchNorm().Relu();
  b.Add({block, GraphBuilder::Identity()}).Relu();
  b.Add({block, [](GraphBuilder& p) { p.Conv2d(4, {.kernel = 1}).BatchNorm(); }});
  b.BatchNorm().Relu();
  b.Concat({GraphBuilder::Identity(), [](GraphBuilder& p) { p.BatchNorm().Relu(); }});
  if (dropout > 0) b.BatchNorm().Relu().Dropout(dropout);
  b.MaxPool2d({.stride = 2}).Flatten().Fc(6).BatchNorm().Relu().Fc(4).Softmax();
  return *b.Build();
}

class PlanBatchNormTest : public ::testing::TestWithParam<TensorFormat> {
 protected:
  Tensor Batch(int64_t n, DType dtype = DType::kFloat64, uint64_t seed = 5) const {
    return RandomTensor(dtype, SampleShape(kImage, GetParam()).Prepend(n), seed);
  }
};
INSTANTIATE_TEST_SUITE_P(Formats, PlanBatchNormTest,
                         ::testing::Values(TensorFormat::kNHWC, TensorFormat::kNCHW));

TEST_P(PlanBatchNormTest, GradientsOfAWholeNetwork) {
  for (const double dropout : {0.0, 0.4}) {
    EXPECT_TRUE(CheckNetworkGradients(ResidualGraph(GetParam(), dropout), {.batch = 4}));
  }
}

// The backward pass finds the relu's mask from the input of the normalisation.
TEST_P(PlanBatchNormTest, AReluBehindANormalisationCostsNoMemory) {
  const auto memory = [&](bool relu) {
    GraphBuilder b("relu", GetParam());
    b.Input(kImage).Conv2d(8, {.padding = 1}).BatchNorm();
    if (relu) b.Relu();
    b.AveragePool2d({.stride = 2}).Flatten().Fc(4).Softmax();
    return PlanSession(*b.Build(), 8).plan->memory().activations;
  };
  EXPECT_EQ(memory(true), memory(false));
}

TEST_P(PlanBatchNormTest, EvaluationSeesTheStatisticsOfTheLastStep) {
  PlanSession run(ResidualGraph(GetParam()), 8);
  const auto evaluation = run.Compile(8, /*training=*/false);
  const Tensor x = Batch(8), labels = Labels(8);
  ASSERT_TRUE(evaluation->Evaluate(x, labels).ok());
  const double before = evaluation->LossSum();
  // The same batch again and again: its statistics become the running ones.
  for (int i = 0; i < 300; ++i) {
    ASSERT_TRUE(run.plan->ForwardBackward(x, labels, 1, i).ok());
  }
  ASSERT_TRUE(evaluation->Evaluate(x, labels).ok());
  EXPECT_NE(evaluation->LossSum(), before);
  EXPECT_NEAR(evaluation->LossSum(), run.plan->LossSum(), 1e-9);
  EXPECT_TRUE(Close(evaluation->predictions(), run.plan->predictions(), 1e-9));
  const Tensor other = Batch(8, DType::kFloat64, 77);
  const std::vector<double> values = Values(run.store->all_values());
  ASSERT_TRUE(evaluation->Evaluate(other, labels).ok());
  EXPECT_EQ(Values(run.store->all_values()), values) << "evaluation changes nothing";
}

TEST_P(PlanBatchNormTest, ASmallerBatchIsTheSameAsAPlanOfItsSize) {
  PlanSession large(ResidualGraph(GetParam()), 5), small(ResidualGraph(GetParam()), 3);
  const Tensor labels = Labels(3), x = Batch(3);
  ASSERT_TRUE(large.plan->ForwardBackward(x, labels, 1, 0).ok());
  ASSERT_TRUE(small.plan->ForwardBackward(x, labels, 1, 0).ok());
  EXPECT_EQ(Values(large.store->all_values()), Values(small.store->all_values()));
  EXPECT_TRUE(Close(large.store->gradients(), small.store->gradients(), 1e-12));
}

TEST_P(PlanBatchNormTest, SameBitsOnAnyNumberOfThreads) {
  std::vector<double> first;
  for (const int threads : {1, 2, 4}) {
    SetNumThreads(threads);
    PlanSession run(ResidualGraph(GetParam(), 0.3), 7, DType::kFloat32);
    ASSERT_TRUE(run.plan->ForwardBackward(Batch(7, DType::kFloat32), Labels(7), 1.0 / 7, 3).ok());
    const std::vector<double> gradients = Values(run.store->gradients());
    if (first.empty()) first = gradients;
    EXPECT_EQ(gradients, first) << threads << " threads";
  }
}

TEST_P(PlanBatchNormTest, StepsAllocateNothing) {
  PlanSession run(ResidualGraph(GetParam(), 0.3), 8, DType::kFloat32);
  const auto evaluation = run.Compile(8, /*training=*/false);
  const Tensor x = Batch(8, DType::kFloat32), labels = Labels(8);
  const auto step = [&](int i) {
    run.store->MarkChanged();
    const absl::Status status = run.plan->ForwardBackward(x, labels, 1, i);
    return status.ok() ? evaluation->Evaluate(x, labels) : status;
  };
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(step(i).ok());
  const dtnn::testing::AllocationCounter counter;
  absl::Status status;
  for (int i = 0; i < 5 && status.ok(); ++i) status = step(i);
  EXPECT_EQ(counter.count(), 0);
  EXPECT_TRUE(status.ok()) << status;
}

// Plain gradient descent on one batch.
TEST_P(PlanBatchNormTest, AResidualNetworkLearns) {
  PlanSession run(ResidualGraph(GetParam()), 16, DType::kFloat32);
  const Tensor x = Batch(16, DType::kFloat32), labels = Labels(16);
  double first = 0, last = 0;
  for (int i = 0; i < 120; ++i) {
    ASSERT_TRUE(run.plan->ForwardBackward(x, labels, 1.0 / 16, i).ok());
    last = run.plan->LossSum() / 16;
    if (i == 0) first = last;
    const Tensor values = run.store->values(), gradients = run.store->gradients();
    for (int64_t p = 0; p < values.num_elements(); ++p) {
      values.data<float>()[p] -= 0.1f * gradients.data<float>()[p];
    }
    run.store->MarkChanged();
  }
  EXPECT_LT(last, 0.25 * first);
}

// Otherwise copies of filters would be made anew after every forward pass.
TEST_P(PlanBatchNormTest, AForwardPassChangesTheVersionOfStatisticsAlone) {
  PlanSession run(ResidualGraph(GetParam()), 4);
  const uint64_t version = run.store->version(), statistics = run.store->statistics_version();
  ASSERT_TRUE(run.plan->ForwardBackward(Batch(4), Labels(4), 1, 0).ok());
  EXPECT_EQ(run.store->version(), version);
  EXPECT_GT(run.store->statistics_version(), statistics);
  const uint64_t moved = run.store->statistics_version();
  run.store->MarkChanged();
  EXPECT_GT(run.store->version(), version);
  EXPECT_GT(run.store->statistics_version(), moved);
}

}  // namespace
}  // namespace dtnn
