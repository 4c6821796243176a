// The losses that are a mean over the outputs of a sample: what they share once, their values each.

#include "gtest/gtest.h"
#include "optim/losses/mae.h"
#include "optim/losses/mse.h"
#include "optim/testing/loss_check.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using ::dtnn::testing::CheckLossGradient;
using ::dtnn::testing::LossResult;
using ::dtnn::testing::RandomTensor;
using ::dtnn::testing::RunLoss;
using ::dtnn::testing::TensorOf;

// Losses and gradient, scaled by 0.5, of two samples.
LossResult OfTwoSamples(const Loss& loss) {
  const Tensor p = TensorOf(DType::kFloat64, Shape{2, 2}, {1, 2, 3, 4});
  const Tensor t = TensorOf(DType::kFloat64, Shape{2, 2}, {0, 4, 3, 3});
  return RunLoss(loss, p, t, false, 0.5);
}

TEST(MeanSquaredErrorTest, IsTheMeanOverTheOutputsOfASample) {
  const LossResult result = OfTwoSamples(MeanSquaredError());
  EXPECT_EQ(result.losses, (std::vector<double>{2.5, 0.5}));
  EXPECT_EQ(result.gradient, (std::vector<double>{0.5, -1, 0, 0.5}));
}

TEST(MeanAbsoluteErrorTest, IsTheMeanOverTheOutputsOfASample) {
  const LossResult result = OfTwoSamples(MeanAbsoluteError());
  EXPECT_EQ(result.losses, (std::vector<double>{1.5, 0.5}));
  EXPECT_EQ(result.gradient, (std::vector<double>{0.25, -0.25, 0, 0.25}));
}

template <typename LossType>
class RegressionLossTest : public ::testing::Test {
 protected:
  const LossType loss_ = {};
};
using Losses = ::testing::Types<MeanSquaredError, MeanAbsoluteError>;
TYPED_TEST_SUITE(RegressionLossTest, Losses);

TYPED_TEST(RegressionLossTest, GradientIsTheDerivativeOfTheScaledSum) {
  const Tensor x = RandomTensor(DType::kFloat64, Shape{4, 5}, 1);
  const Tensor values = RandomTensor(DType::kFloat64, Shape{4, 5}, 2);
  EXPECT_TRUE(CheckLossGradient(this->loss_, x, values, false));
  const Tensor classes = TensorOf(DType::kInt32, Shape{4}, {0, 4, 2, 2});
  EXPECT_TRUE(CheckLossGradient(this->loss_, x, classes, false));
}

TYPED_TEST(RegressionLossTest, AClassIsAOneAmongZeros) {
  const Tensor p = RandomTensor(DType::kFloat32, Shape{2, 3}, 1);
  const LossResult classes =
      RunLoss(this->loss_, p, TensorOf(DType::kInt32, Shape{2}, {0, 2}), false, 1);
  const LossResult values =
      RunLoss(this->loss_, p, TensorOf(DType::kFloat32, Shape{2, 3}, {1, 0, 0, 0, 0, 1}), false, 1);
  EXPECT_EQ(classes.losses, values.losses);
  EXPECT_EQ(classes.gradient, values.gradient);
}

}  // namespace
}  // namespace dtnn
