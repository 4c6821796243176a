#include "optim/mse.h"

#include "gtest/gtest.h"
#include "optim/testing/loss_check.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using ::dtnn::testing::CheckLossGradient;
using ::dtnn::testing::LossResult;
using ::dtnn::testing::RandomTensor;
using ::dtnn::testing::RunLoss;
using ::dtnn::testing::TensorOf;

const MeanSquaredError kLoss;

TEST(MeanSquaredErrorTest, IsTheMeanOverTheOutputsOfASample) {
  const Tensor p = TensorOf(DType::kFloat64, Shape{2, 2}, {1, 2, 3, 4});
  const Tensor t = TensorOf(DType::kFloat64, Shape{2, 2}, {0, 4, 3, 3});
  const LossResult result = RunLoss(kLoss, p, t, false, 0.5);
  EXPECT_EQ(result.losses, (std::vector<double>{2.5, 0.5}));
  EXPECT_EQ(result.gradient, (std::vector<double>{0.5, -1, 0, 0.5}));
}

TEST(MeanSquaredErrorTest, GradientIsTheDerivativeOfTheScaledSum) {
  const Tensor x = RandomTensor(DType::kFloat64, Shape{4, 5}, 1);
  EXPECT_TRUE(CheckLossGradient(kLoss, x, RandomTensor(DType::kFloat64, Shape{4, 5}, 2), false));
  EXPECT_TRUE(CheckLossGradient(kLoss, x, TensorOf(DType::kInt32, Shape{4}, {0, 4, 2, 2}), false));
}

TEST(MeanSquaredErrorTest, AClassIsAOneAmongZeros) {
  const Tensor p = RandomTensor(DType::kFloat32, Shape{2, 3}, 1);
  const LossResult classes = RunLoss(kLoss, p, TensorOf(DType::kInt32, Shape{2}, {0, 2}), false, 1);
  const LossResult values =
      RunLoss(kLoss, p, TensorOf(DType::kFloat32, Shape{2, 3}, {1, 0, 0, 0, 0, 1}), false, 1);
  EXPECT_EQ(classes.losses, values.losses);
  EXPECT_EQ(classes.gradient, values.gradient);
}

}  // namespace
}  // namespace dtnn
