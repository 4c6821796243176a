#include "optim/losses/binary_cross_entropy.h"

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
using ::dtnn::testing::Values;

const BinaryCrossEntropy kLoss;

TEST(BinaryCrossEntropyTest, GoldenValues) {
  const Tensor p = TensorOf(DType::kFloat64, Shape{1, 2}, {0.8, 0.3});
  const Tensor t = TensorOf(DType::kFloat64, Shape{1, 2}, {1, 0});
  const LossResult result = RunLoss(kLoss, p, t, false, 1);
  EXPECT_TRUE(Close(result.losses, {0.57981850}, 1e-8));
  EXPECT_TRUE(Close(result.gradient, {-1 / 0.8, 1 / 0.7}, 1e-12));
}

// Keras: BinaryCrossentropy(label_smoothing=0.2), the sum.
TEST(BinaryCrossEntropyTest, SmoothedLabelsAreLessCertain) {
  const BinaryCrossEntropy loss({.label_smoothing = 0.2});
  const Tensor p = TensorOf(DType::kFloat64, Shape{1, 2}, {0.8, 0.3});
  const Tensor t = TensorOf(DType::kFloat64, Shape{1, 2}, {1, 0});
  const double expected =
      -.9 * std::log(.8) - .1 * std::log(.2) - .1 * std::log(.3) - .9 * std::log(.7);
  const LossResult result = RunLoss(loss, p, t, false, 1);
  EXPECT_TRUE(Close(result.losses, {expected}, 1e-12));
  EXPECT_TRUE(Close(result.gradient, {.1 / .2 - .9 / .8, .9 / .7 - .1 / .3}, 1e-12));
  const Tensor x = TensorOf(DType::kFloat64, Shape{1, 2}, {std::log(.8 / .2), std::log(.3 / .7)});
  const LossResult from_logits = RunLoss(loss, x, t, true, 1);
  EXPECT_TRUE(Close(from_logits.losses, {expected}, 1e-12));
  EXPECT_TRUE(Close(from_logits.gradient, {.8 - .9, .3 - .1}, 1e-12));
  for (const bool logits : {false, true}) {
    EXPECT_TRUE(CheckLossGradient(loss, p, t, logits)) << logits;
  }
}

TEST(BinaryCrossEntropyTest, SmoothingIsAShare) {
  const auto cpu = *DeviceContext::Create(Device::Cpu());
  for (const double smoothing : {-0.1, 1.0, std::nan("")}) {
    const BinaryCrossEntropy loss({.label_smoothing = smoothing});
    EXPECT_FALSE(loss.Bind({.device = cpu.get(), .batch = 1, .outputs = 2}).ok());
  }
}

TEST(BinaryCrossEntropyTest, LogitsAndProbabilitiesAgree) {
  for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
    const double tolerance = dtype == DType::kFloat32 ? 1e-6 : 1e-14;
    const Tensor x = RandomTensor(dtype, Shape{3, 4}, 1), t = RandomTensor(dtype, Shape{3, 4}, 2);
    std::vector<double> targets, probabilities, gradient;
    for (const double value : Values(t)) targets.push_back((value + 1) / 2);
    for (const double value : Values(x)) probabilities.push_back(1 / (1 + std::exp(-value)));
    for (size_t i = 0; i < 12; ++i) gradient.push_back(0.5 * (probabilities[i] - targets[i]));
    const Tensor labels = TensorOf(dtype, Shape{3, 4}, targets);
    const LossResult from_logits = RunLoss(kLoss, x, labels, true, 0.5);
    const LossResult from_probabilities =
        RunLoss(kLoss, TensorOf(dtype, Shape{3, 4}, probabilities), labels, false, 0.5);
    EXPECT_TRUE(Close(from_logits.losses, from_probabilities.losses, 0, 4 * tolerance));
    EXPECT_TRUE(Close(from_logits.probabilities, probabilities, tolerance));
    EXPECT_TRUE(Close(from_logits.gradient, gradient, tolerance));
  }
}

TEST(BinaryCrossEntropyTest, GradientIsTheDerivativeOfTheScaledSum) {
  for (const bool from_logits : {false, true}) {
    const Tensor x = RandomTensor(DType::kFloat64, Shape{4, 5}, 1);
    const Tensor t = RandomTensor(DType::kFloat64, Shape{4, 5}, 2);
    for (int i = 0; i < 20; ++i) {
      double &value = x.data<double>()[i], &target = t.data<double>()[i];
      value = from_logits ? 3 * value : 0.5 + 0.4 * value;
      target = i % 3 == 0 ? 1 : i % 3 == 1 ? 0 : 0.5 + 0.5 * target;
    }
    EXPECT_TRUE(CheckLossGradient(kLoss, x, t, from_logits)) << from_logits;
    const Tensor classes = TensorOf(DType::kInt32, Shape{4}, {0, 4, 2, 2});
    EXPECT_TRUE(CheckLossGradient(kLoss, x, classes, from_logits)) << from_logits;
  }
}

TEST(BinaryCrossEntropyTest, AClassIsAOneAmongZeros) {
  const Tensor p = TensorOf(DType::kFloat64, Shape{2, 3}, {.8, .3, .1, .2, .6, .5});
  const LossResult classes = RunLoss(kLoss, p, TensorOf(DType::kInt32, Shape{2}, {0, 2}), false, 1);
  const LossResult values =
      RunLoss(kLoss, p, TensorOf(DType::kFloat64, Shape{2, 3}, {1, 0, 0, 0, 0, 1}), false, 1);
  EXPECT_EQ(classes.losses, values.losses);
  EXPECT_EQ(classes.gradient, values.gradient);
}

// In float32, 1 - 1e-8 is 1: the clip must not rely on it.
TEST(BinaryCrossEntropyTest, CertainAnswersStayFinite) {
  for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
    const double wrong = -std::log(1e-8), right = 1e-8;
    const Tensor t = TensorOf(dtype, Shape{4, 1}, {1, 0, 1, 0});
    const LossResult result =
        RunLoss(kLoss, TensorOf(dtype, Shape{4, 1}, {1, 1, 0, 0}), t, false, 1);
    EXPECT_TRUE(Close(result.losses, {right, wrong, wrong, right}, 0, 1e-6));
    EXPECT_TRUE(Close(result.gradient, {-1, 1e8, -1e8, 1}, 0, 1e-6));
    const LossResult from_logits =
        RunLoss(kLoss, TensorOf(dtype, Shape{4, 1}, {900, 900, -900, -900}), t, true, 1);
    EXPECT_TRUE(Close(from_logits.losses, {right, wrong, wrong, right}, 0, 1e-6));
    EXPECT_EQ(from_logits.gradient, (std::vector<double>{0, 1, -1, 0}));
  }
}

TEST(BinaryCrossEntropyTest, NanShows) {
  const double nan = std::nan("");
  const Tensor x = TensorOf(DType::kFloat32, Shape{1, 2}, {0.5, nan});
  const Tensor t = TensorOf(DType::kFloat32, Shape{1, 2}, {1, 1});
  EXPECT_TRUE(std::isnan(RunLoss(kLoss, x, t, false, 1).losses[0]));
  EXPECT_TRUE(std::isnan(RunLoss(kLoss, x, t, true, 1).losses[0]));
}

TEST(BinaryCrossEntropyTest, TargetsOutsideTheirRangeAreNamed) {
  const Tensor p = TensorOf(DType::kFloat32, Shape{2, 2}, {.5, .5, .5, .5});
  const auto message = [&](double bad) {
    const Tensor t = TensorOf(DType::kFloat32, Shape{2, 2}, {0, 1, 0.5, bad});
    return std::string(RunLoss(kLoss, p, t, true, 1).status.message());
  };
  EXPECT_EQ(message(1.5),
            "binary cross entropy: target 1 of sample 1 of the batch is 1.5, expected 0 to 1; did "
            "you mean another loss, such as mse?");
  EXPECT_NE(message(-0.25), "");
  EXPECT_NE(message(std::nan("")), "");
  EXPECT_EQ(message(1), "");
}

}  // namespace
}  // namespace dtnn
