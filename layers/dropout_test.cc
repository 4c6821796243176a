#include "layers/dropout.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "layers/testing/gradient_check.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using ::dtnn::testing::TensorOf;
using ::dtnn::testing::Values;
using ::dtnn::testing::ZeroTensor;

TEST(DropoutLayerTest, Gradients) {
  EXPECT_TRUE(testing::CheckGradients(DropoutLayer(0.5), {Shape{3, 4, 2}}, TensorFormat::kNHWC));
  EXPECT_TRUE(testing::CheckGradients(DropoutLayer(0.2), {Shape{13}}, TensorFormat::kNCHW));
}

// Every element of the batch and every step has a mask of its own.
TEST(DropoutLayerTest, MasksDifferBetweenSamplesAndSteps) {
  auto device = *DeviceContext::Create(Device::Cpu());
  const int64_t features = 64;
  auto op = *DropoutLayer(0.5).Bind({.device = device.get(),
                                     .batch = 2,
                                     .training = true,
                                     .inputs = {Shape{features}},
                                     .output = Shape{features},
                                     .random = Philox(1, 2)});
  const Tensor x =
      TensorOf(DType::kFloat32, Shape{2, features}, std::vector<double>(size_t(2 * features), 1.0));
  std::vector<double> masks;
  for (int64_t step : {0, 1}) {
    const Tensor y = ZeroTensor(DType::kFloat32, x.shape());
    ASSERT_TRUE(op->Forward({.inputs = {&x, 1}, .output = y, .step = step}).ok());
    for (double value : Values(y)) masks.push_back(value);
  }
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < i; ++j) {
      EXPECT_NE(
          std::vector<double>(masks.begin() + i * features, masks.begin() + (i + 1) * features),
          std::vector<double>(masks.begin() + j * features, masks.begin() + (j + 1) * features))
          << i << " and " << j;
    }
  }
  // Nor does a step continue from the begin of the previous one, a few numbers later.
  const auto second = masks.begin() + 2 * features;
  for (int64_t shift = 1; shift <= features; ++shift) {
    EXPECT_FALSE(std::equal(masks.begin() + shift, second, second)) << "shift " << shift;
  }
}

// Nor does a step draw any number of the one before, however few it draws.
TEST(DropoutLayerTest, StepsOfAnyNumberOfElementsShareNoNumbers) {
  const auto device = *DeviceContext::Create(Device::Cpu());
  const Philox random(1, 2);
  for (const int64_t features : {1, 2, 3, 5, 63}) {
    const auto op = *DropoutLayer(0.5).Bind({.device = device.get(),
                                             .batch = 1,
                                             .training = true,
                                             .inputs = {Shape{features}},
                                             .output = Shape{features},
                                             .random = random});
    const std::vector<double> ones(size_t(features), 1);
    const Tensor x = TensorOf(DType::kFloat32, Shape{1, features}, ones);
    std::vector<double> numbers, stream;
    for (int64_t step = 0; step < 50; ++step) {
      const Tensor y = ZeroTensor(DType::kFloat32, x.shape());
      ASSERT_TRUE(op->Forward({.inputs = {&x, 1}, .output = y, .step = step}).ok());
      const std::vector<double> values = Values(y);
      numbers.insert(numbers.end(), values.begin(), values.end());
      // A step begins with a block of four numbers of its own.
      const int64_t begin = step * ((features + 3) / 4 * 4);
      for (int64_t i = begin; i < begin + features; ++i) {
        stream.push_back(random.Uniform(uint64_t(i)) < 0.5 ? 0 : 2);
      }
    }
    EXPECT_EQ(numbers, stream) << features;
  }
}

TEST(DropoutLayerTest, RatesHaveARange) {
  const Shape vector{3};
  for (const double rate : {0.0, 1.0}) {
    EXPECT_TRUE(DropoutLayer(rate).OutputShape({&vector, 1}, TensorFormat::kNHWC).ok());
  }
  for (const auto& [rate, words] : {std::pair(-0.125, "-0.125"), {1.25, "1.25"}, {NAN, "nan"}}) {
    EXPECT_EQ(DropoutLayer(rate).OutputShape({&vector, 1}, TensorFormat::kNHWC).status().message(),
              "needs a rate in [0, 1], not " + std::string(words));
  }
  const Shape two[] = {vector, vector};
  EXPECT_EQ(DropoutLayer(0.5).OutputShape(two, TensorFormat::kNHWC).status().message(),
            "needs one input, not 2");
}

TEST(DropoutLayerTest, BoundForEvaluationItHasNoBackwardPass) {
  const auto device = *DeviceContext::Create(Device::Cpu());
  const auto op = *DropoutLayer(0.5).Bind(
      {.device = device.get(), .batch = 1, .inputs = {Shape{3}}, .output = Shape{3}});
  EXPECT_TRUE(op->traits().is_view);
  EXPECT_EQ(op->Backward({}), absl::FailedPreconditionError("Dropout was bound for evaluation"));
}

}  // namespace
}  // namespace dtnn
