#include "optim/losses/categorical_cross_entropy.h"

#include <cmath>
#include <string>
#include <vector>

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

// Of float64, one row per sample.
Tensor Rows(int64_t classes, const std::vector<double>& values) {
  return TensorOf(DType::kFloat64, Shape{int64_t(values.size()) / classes, classes}, values);
}

// Logits, or probabilities in (0, 1).
Tensor Predictions(bool from_logits) {
  Tensor x = RandomTensor(DType::kFloat64, Shape{3, 4}, 1);
  double* values = x.data<double>();
  for (int i = 0; i < 12; ++i) values[i] = from_logits ? 3 * values[i] : 0.3 + 0.2 * values[i];
  return x;
}

TEST(CategoricalCrossEntropyTest, AClassIsARowOfOneAmongZeros) {
  for (const bool from_logits : {false, true}) {
    for (const double smoothing : {0.0, 0.2}) {
      const CategoricalCrossEntropy loss({.label_smoothing = smoothing});
      Tensor x = Predictions(from_logits);
      if (from_logits) x.data<double>()[3] = 500;  // an answer that is certain, and wrong
      const LossResult classes = RunLoss(loss, x, Classes({2, 0, 3}), from_logits, 0.5);
      const LossResult rows =
          RunLoss(loss, x, Rows(4, {0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 1}), from_logits, 0.5);
      ASSERT_TRUE(rows.status.ok()) << rows.status;
      EXPECT_TRUE(Close(rows.losses, classes.losses, 1e-9));
      EXPECT_TRUE(Close(rows.gradient, classes.gradient, 1e-12));
      EXPECT_TRUE(Close(rows.probabilities, classes.probabilities, 1e-12));
    }
  }
}

TEST(CategoricalCrossEntropyTest, MixedTargetsHaveTheMixedLossAndGradient) {
  const std::vector<double> share = {0.7, 0.5, 1};
  for (const bool from_logits : {false, true}) {
    for (const double smoothing : {0.0, 0.2}) {
      const CategoricalCrossEntropy loss({.label_smoothing = smoothing});
      const Tensor x = Predictions(from_logits);
      const LossResult a = RunLoss(loss, x, Classes({2, 0, 3}), from_logits, 0.5);
      const LossResult b = RunLoss(loss, x, Classes({1, 3, 0}), from_logits, 0.5);
      const LossResult mixed =
          RunLoss(loss, x, Rows(4, {0, 0.3, 0.7, 0, 0.5, 0, 0, 0.5, 0, 0, 0, 1}), from_logits, 0.5);
      std::vector<double> losses, gradient;
      for (size_t i = 0; i < 3; ++i) {
        losses.push_back(share[i] * a.losses[i] + (1 - share[i]) * b.losses[i]);
        for (size_t j = 4 * i; j < 4 * i + 4; ++j) {
          gradient.push_back(share[i] * a.gradient[j] + (1 - share[i]) * b.gradient[j]);
        }
      }
      EXPECT_TRUE(Close(mixed.losses, losses, 1e-12));
      EXPECT_TRUE(Close(mixed.gradient, gradient, 1e-12));
    }
  }
}

TEST(CategoricalCrossEntropyTest, GradientOfMixedTargetsIsTheDerivative) {
  for (const bool from_logits : {false, true}) {
    for (const double smoothing : {0.0, 0.1}) {
      EXPECT_TRUE(CheckLossGradient(
          CategoricalCrossEntropy({.label_smoothing = smoothing}), Predictions(from_logits),
          Rows(4, {0, 0.3, 0.7, 0, 0.25, 0.25, 0.25, 0.25, 0, 0, 0, 1}), from_logits));
    }
  }
}

TEST(CategoricalCrossEntropyTest, RowsThatAreNoProbabilitiesAreRefused) {
  for (const bool from_logits : {false, true}) {
    for (const std::vector<double>& row :
         {std::vector<double>{1, 1, 0, 0}, std::vector<double>{-0.5, 1.5, 0, 0},
          std::vector<double>{std::nan(""), 0, 0, 1}}) {
      std::vector<double> rows = {0, 0, 1, 0, 0.5, 0.5, 0, 0};
      rows.insert(rows.end(), row.begin(), row.end());
      const absl::Status status = RunLoss(CategoricalCrossEntropy(), Predictions(from_logits),
                                          Rows(4, rows), from_logits, 1)
                                      .status;
      EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
      EXPECT_EQ(std::string(status.message()).find("the targets of sample 2 of the batch are no"),
                0u)
          << status;
    }
  }
}

}  // namespace
}  // namespace dtnn
