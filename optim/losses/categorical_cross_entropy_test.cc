#include "optim/losses/categorical_cross_entropy.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
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

// A float64 tensor with one row per sample.
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

// The formulas of PyTorch's CrossEntropyLoss with weights and label smoothing, as plain loops.
LossResult Reference(const Tensor& x, const Tensor& rows, bool from_logits, double smoothing,
                     const std::vector<double>& weights, double scale) {
  LossResult result;
  const int64_t n = x.shape()[0], classes = x.shape()[1];
  for (int64_t i = 0; i < n; ++i) {
    const double* row = x.data<double>() + i * classes;
    double sum = 0, loss = 0, total = 0;
    for (int64_t j = 0; j < classes; ++j) sum += std::exp(row[j]);
    std::vector<double> t, p;
    for (int64_t j = 0; j < classes; ++j) {
      p.push_back(from_logits ? std::exp(row[j]) / sum : row[j]);
      t.push_back(weights[size_t(j)] * ((1 - smoothing) * rows.data<double>()[i * classes + j] +
                                        smoothing / double(classes)));
      loss -= t.back() * std::log(p.back());
      total += t.back();
    }
    result.losses.push_back(loss);
    for (size_t j = 0; j < t.size(); ++j) {
      result.gradient.push_back(scale * (from_logits ? total * p[j] - t[j] : -t[j] / p[j]));
    }
  }
  return result;
}

TEST(CategoricalCrossEntropyTest, ClassWeightsCountAsInTheReference) {
  const std::vector<double> weights = {0.5, 3, 0, 1.25};
  const Tensor mixed = Rows(4, {0, 0.3, 0.7, 0, 0.5, 0, 0, 0.5, 0, 0, 0, 1});
  const Tensor one_hot = Rows(4, {0, 0, 1, 0, 1, 0, 0, 0, 0, 1, 0, 0});
  for (const bool from_logits : {false, true}) {
    for (const double smoothing : {0.0, 0.2}) {
      const CategoricalCrossEntropy loss({.label_smoothing = smoothing, .class_weights = weights});
      const Tensor x = Predictions(from_logits);
      for (const auto& [targets, rows] :
           {std::pair(Classes({2, 0, 1}), one_hot), {one_hot, one_hot}, {mixed, mixed}}) {
        const LossResult result = RunLoss(loss, x, targets, from_logits, 0.25);
        ASSERT_TRUE(result.status.ok()) << result.status;
        const LossResult expected = Reference(x, rows, from_logits, smoothing, weights, 0.25);
        EXPECT_TRUE(Close(result.losses, expected.losses, 1e-7));
        EXPECT_TRUE(Close(result.gradient, expected.gradient, 1e-12));
        EXPECT_TRUE(CheckLossGradient(loss, x, targets, from_logits));
      }
    }
  }
}

// A class with weight w has w times the loss and the gradient; nothing else changes.
TEST(CategoricalCrossEntropyTest, AWeightScalesTheSamplesOfItsClass) {
  for (const bool from_logits : {false, true}) {
    const Tensor x = Predictions(from_logits);
    const LossResult plain =
        RunLoss(CategoricalCrossEntropy(), x, Classes({2, 0, 1}), from_logits, 1);
    const LossResult weighted = RunLoss(CategoricalCrossEntropy({.class_weights = {1, 1, 4, 1}}), x,
                                        Classes({2, 0, 1}), from_logits, 1);
    for (size_t i = 0; i < 3; ++i) {
      const double factor = i == 0 ? 4 : 1;
      EXPECT_NEAR(weighted.losses[i], factor * plain.losses[i], 1e-7);
      for (size_t j = 4 * i; j < 4 * i + 4; ++j) {
        EXPECT_NEAR(weighted.gradient[j], factor * plain.gradient[j], 1e-12);
      }
    }
    EXPECT_TRUE(Close(weighted.probabilities, plain.probabilities, 1e-12));
  }
}

TEST(CategoricalCrossEntropyTest, RefusesWeightsThatDoNotFit) {
  const auto device = *DeviceContext::Create(Device::Cpu());
  for (const std::vector<double>& weights :
       {std::vector<double>{1}, {1, 1, 1}, {1, -0.5}, {1, std::nan("")}, {1, INFINITY}}) {
    const CategoricalCrossEntropy loss({.class_weights = weights});
    for (const bool from_logits : {false, true}) {
      EXPECT_FALSE(
          loss.Bind({.device = device.get(), .batch = 1, .outputs = 2, .from_logits = from_logits})
              .ok());
    }
  }
}

TEST(CategoricalCrossEntropyTest, RowsThatAreNoProbabilitiesAreRefused) {
  for (const bool from_logits : {false, true}) {
    for (const auto& [row, sums] : {std::pair(std::vector<double>{1, 1, 0, 0}, "2"),
                                    {{-0.5, 1.5, 0, 0}, "1 and the smallest is -0.5"},
                                    {{0.5, 0.5, 0.25, -0.25}, "1 and the smallest is -0.25"},
                                    {{std::nan(""), 0, 0, 1}, "nan"},
                                    {{0.5, 0.5, 0, 0.0011}, "1.0011 and"},
                                    {{0.5, 0.4989, 0, 0}, "0.9989 and"}}) {
      for (const int64_t sample : {0, 1, 2}) {
        std::vector<double> rows = {0, 0, 1, 0, 0.5, 0.5, 0, 0, 0.2, 0.2, 0.2, 0.4};
        std::ranges::copy(row, rows.begin() + 4 * sample);
        const absl::Status status = RunLoss(CategoricalCrossEntropy(), Predictions(from_logits),
                                            Rows(4, rows), from_logits, 1)
                                        .status;
        EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
        EXPECT_THAT(
            std::string(status.message()),
            ::testing::StartsWith("the targets of sample " + std::to_string(sample) +
                                  " of the batch are not probabilities: they sum to " + sums));
      }
    }
    for (const double last : {-0.0009, 0.0009}) {
      EXPECT_EQ(
          RunLoss(CategoricalCrossEntropy(), Predictions(from_logits),
                  Rows(4, {0, 0, 1, 0, 0.5, 0.5, 0, 0, 0.25, 0, 0, 0.75 + last}), from_logits, 1)
              .status,
          absl::OkStatus())
          << "roundings";
    }
  }
}

}  // namespace
}  // namespace dtnn
