#include "optim/losses/categorical_cross_entropy.h"

#include <cmath>

#include "gtest/gtest.h"
#include "optim/testing/loss_check.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using ::dtnn::testing::CheckLossGradient;
using ::dtnn::testing::Close;
using ::dtnn::testing::LossResult;
using ::dtnn::testing::RandomTensor;
using ::dtnn::testing::RunLoss;
using ::dtnn::testing::TensorOf;

Tensor Classes(const std::vector<double>& classes) {
  return TensorOf(DType::kInt32, Shape{int64_t(classes.size())}, classes);
}

TEST(CategoricalCrossEntropyTest, GoldenValues) {
  const Tensor p = TensorOf(DType::kFloat64, Shape{1, 3}, {0.7, 0.2, 0.1});
  const LossResult result = RunLoss(CategoricalCrossEntropy(), p, Classes({0}), false, 1);
  EXPECT_TRUE(Close(result.losses, {0.35667494}, 1e-8));
  EXPECT_TRUE(Close(result.gradient, {-1.42857143, 0, 0}, 1e-8));
}

TEST(CategoricalCrossEntropyTest, LogitsAndProbabilitiesAgree) {
  const Tensor logits =
      TensorOf(DType::kFloat64, Shape{1, 3}, {std::log(0.7), std::log(0.2), std::log(0.1)});
  const LossResult result = RunLoss(CategoricalCrossEntropy(), logits, Classes({0}), true, 1);
  EXPECT_TRUE(Close(result.losses, {0.35667494}, 1e-8));
  EXPECT_TRUE(Close(result.probabilities, {0.7, 0.2, 0.1}, 1e-12));
  EXPECT_TRUE(Close(result.gradient, {-0.3, 0.2, 0.1}, 1e-12));
}

// t = (.8, .1, .1).
TEST(CategoricalCrossEntropyTest, GoldenValuesWithLabelSmoothing) {
  const CategoricalCrossEntropy loss({.label_smoothing = 0.3});
  const Tensor p = TensorOf(DType::kFloat64, Shape{1, 3}, {0.7, 0.2, 0.1});
  const LossResult result = RunLoss(loss, p, Classes({0}), false, 1);
  EXPECT_TRUE(Close(result.losses, {0.67654225569}, 1e-11));
  EXPECT_TRUE(Close(result.gradient, {-0.8 / 0.7, -0.5, -1}, 1e-12));
  const Tensor logits =
      TensorOf(DType::kFloat64, Shape{1, 3}, {std::log(0.7), std::log(0.2), std::log(0.1)});
  const LossResult from_logits = RunLoss(loss, logits, Classes({0}), true, 1);
  EXPECT_TRUE(Close(from_logits.losses, {0.67654225569}, 1e-11));
  EXPECT_TRUE(Close(from_logits.gradient, {-0.1, 0.1, 0}, 1e-12));
}

TEST(CategoricalCrossEntropyTest, GradientIsTheDerivativeOfTheScaledSum) {
  for (const bool from_logits : {false, true}) {
    for (const double smoothing : {0.0, 0.1}) {
      const Tensor x = RandomTensor(DType::kFloat64, Shape{4, 5}, 1);
      double* values = x.data<double>();
      for (int i = 0; i < 20; ++i) values[i] = from_logits ? values[i] : 0.2 + 0.1 * values[i];
      EXPECT_TRUE(CheckLossGradient(CategoricalCrossEntropy({.label_smoothing = smoothing}), x,
                                    Classes({0, 4, 2, 2}), from_logits))
          << "from_logits " << from_logits << ", smoothing " << smoothing;
    }
  }
}

TEST(CategoricalCrossEntropyTest, RefusesASmoothingThatLeavesNoLabel) {
  const auto device = *DeviceContext::Create(Device::Cpu());
  for (const double smoothing : {-0.1, 1.0, std::nan("")}) {
    const CategoricalCrossEntropy loss({.label_smoothing = smoothing});
    EXPECT_FALSE(loss.Bind({.device = device.get(), .batch = 1, .outputs = 2}).ok());
  }
}

}  // namespace
}  // namespace dtnn
