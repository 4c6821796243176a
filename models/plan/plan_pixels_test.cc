// Plans of networks whose output is an image, each pixel of which has a class.

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "models/graph/builder.h"
#include "models/testing/gradient_check.h"
#include "models/testing/plan_session.h"
#include "models/zoo/unet.h"
#include "optim/losses/mse.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using ::dtnn::testing::CheckNetworkGradients;
using ::dtnn::testing::PlanSession;
using ::dtnn::testing::RandomTensor;
using ::dtnn::testing::TensorOf;
using ::dtnn::testing::Values;

Graph UNetOf(TensorFormat format) {
  GraphBuilder b("pixels", format);
  b.Input({4, 8, 2});
  AppendUNet(b, {.width = 2, .depth = 2}, 3);
  return *b.Softmax().Build();
}

Tensor LabelsOf(int64_t n) {
  std::vector<double> labels;
  for (int64_t i = 0; i < n * 32; ++i) labels.push_back(double(i * 5 % 4 - 1));
  return TensorOf(DType::kInt32, {n, 4, 8}, labels);
}

class PlanPixelsTest : public ::testing::TestWithParam<TensorFormat> {
 protected:
  Tensor Batch(int64_t n) const {
    return RandomTensor(DType::kFloat64, SampleShape({4, 8, 2}, GetParam()).Prepend(n), 5);
  }
};
INSTANTIATE_TEST_SUITE_P(Formats, PlanPixelsTest,
                         ::testing::Values(TensorFormat::kNHWC, TensorFormat::kNCHW));

TEST_P(PlanPixelsTest, GradientsOfAUNet) {
  EXPECT_TRUE(CheckNetworkGradients(UNetOf(GetParam()), {.batch = 2, .elements = 60}));
}

TEST_P(PlanPixelsTest, GradientsFromProbabilities) {
  GraphBuilder b("sigmoid", GetParam());
  b.Input({4, 5, 2}).Conv2d(3, {.padding = 1}).Sigmoid();
  EXPECT_TRUE(CheckNetworkGradients(*b.Build(), {.batch = 2, .elements = 60}));
}

TEST_P(PlanPixelsTest, SmallerBatchesAreThoseOfAPlanOfTheirSize) {
  PlanSession run(UNetOf(GetParam()), 3, DType::kFloat64, /*training=*/false);
  const auto plan = run.Compile(3, false), exact = run.Compile(2, false);
  ASSERT_EQ(plan->Evaluate(Batch(2), LabelsOf(2)), absl::OkStatus());
  ASSERT_EQ(exact->Evaluate(Batch(2), LabelsOf(2)), absl::OkStatus());
  EXPECT_EQ(plan->LossSum(), exact->LossSum());
  EXPECT_GT(plan->LossSum(), 0);
  EXPECT_EQ(plan->predictions().shape(), SampleShape({4, 8, 3}, GetParam()).Prepend(2));
  EXPECT_EQ(Values(plan->predictions()), Values(exact->predictions()));
}

TEST_P(PlanPixelsTest, SaysWhatDoesNotFit) {
  PlanSession run(UNetOf(GetParam()), 2, DType::kFloat64, /*training=*/false);
  const auto plan = run.Compile(2, false);
  EXPECT_EQ(std::string(plan->Evaluate(Batch(2), TensorOf(DType::kInt32, {2}, {0, 1})).message()),
            "a batch of 2 samples came with targets of shape (2,) and type int32; the network "
            "classifies pixels and needs (2, 4, 8) of int32");
  const MeanSquaredError mse;
  EXPECT_EQ(Plan::Compile(run.graph, *run.store, *run.device, {.batch = 2, .loss = &mse})
                .status()
                .message(),
            GetParam() == TensorFormat::kNHWC
                ? "the loss needs a network whose output is a vector, not (4, 8, 3)"
                : "the loss needs a network whose output is a vector, not (3, 4, 8)");
}

}  // namespace
}  // namespace dtnn
