#include "optim/categorical_cross_entropy.h"

#include <cmath>

#include "gtest/gtest.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using ::dtnn::testing::Close;
using ::dtnn::testing::RandomTensor;
using ::dtnn::testing::TensorOf;
using ::dtnn::testing::Values;
using ::dtnn::testing::ZeroTensor;

struct Result {
  std::vector<double> losses, gradient;
};

Result RunLoss(const Tensor& x, const std::vector<double>& labels, bool from_logits, double scale) {
  auto device = *DeviceContext::Create(Device::Cpu());
  const int64_t rows = x.shape()[0];
  auto op = *CategoricalCrossEntropy().Bind({.device = device.get(),
                                             .batch = rows,
                                             .outputs = x.shape()[1],
                                             .dtype = x.dtype(),
                                             .from_logits = from_logits});
  const Tensor losses = ZeroTensor(x.dtype(), Shape{rows}), y = ZeroTensor(x.dtype(), x.shape());
  const Tensor dx = ZeroTensor(x.dtype(), x.shape());
  EXPECT_TRUE(op->Run(x, TensorOf(DType::kInt32, Shape{rows}, labels), y, losses, dx, scale).ok());
  return {Values(losses), Values(dx)};
}

TEST(CategoricalCrossEntropyTest, GoldenValues) {
  const Tensor p = TensorOf(DType::kFloat64, Shape{1, 3}, {0.7, 0.2, 0.1});
  const Result result = RunLoss(p, {0}, /*from_logits=*/false, 1);
  EXPECT_TRUE(Close(result.losses, {0.35667494}, 1e-8));
  EXPECT_TRUE(Close(result.gradient, {-1.42857143, 0, 0}, 1e-8));
}

TEST(CategoricalCrossEntropyTest, LogitsAndProbabilitiesAgree) {
  const Tensor logits =
      TensorOf(DType::kFloat64, Shape{1, 3}, {std::log(0.7), std::log(0.2), std::log(0.1)});
  const Result result = RunLoss(logits, {0}, /*from_logits=*/true, 1);
  EXPECT_TRUE(Close(result.losses, {0.35667494}, 1e-8));
  EXPECT_TRUE(Close(result.gradient, {-0.3, 0.2, 0.1}, 1e-12));
}

TEST(CategoricalCrossEntropyTest, GradientIsTheDerivativeOfTheScaledSum) {
  for (bool from_logits : {false, true}) {
    const Tensor x = RandomTensor(DType::kFloat64, Shape{4, 5}, 1);
    double* values = x.data<double>();
    for (int i = 0; i < 20; ++i) values[i] = from_logits ? values[i] : 0.2 + 0.1 * values[i];
    const std::vector<double> labels = {0, 4, 2, 2};
    const double scale = 0.25, step = 1e-6;
    std::vector<double> numeric;
    auto sum = [&] {
      double total = 0;
      for (double loss : RunLoss(x, labels, from_logits, scale).losses) total += loss;
      return total;
    };
    for (int i = 0; i < 20; ++i) {
      const double value = values[i];
      values[i] = value + step;
      const double above = sum();
      values[i] = value - step;
      const double below = sum();
      values[i] = value;
      numeric.push_back(scale * (above - below) / (2 * step));
    }
    EXPECT_TRUE(Close(RunLoss(x, labels, from_logits, scale).gradient, numeric, 1e-8))
        << "from_logits " << from_logits;
  }
}

}  // namespace
}  // namespace dtnn
