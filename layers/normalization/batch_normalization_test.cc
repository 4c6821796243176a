#include "layers/normalization/batch_normalization.h"

#include <cmath>
#include <vector>

#include "gtest/gtest.h"
#include "layers/testing/gradient_check.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using ::dtnn::testing::CheckGradients;
using ::dtnn::testing::Close;
using ::dtnn::testing::TensorOf;
using ::dtnn::testing::Values;
using ::dtnn::testing::ZeroTensor;
using Norm = BatchNormalizationLayer;

// A bound layer of one feature with its parameters at their initial values.
struct Bench {
  Bench(int64_t batch, bool training, bool fuse_relu = false, bool frozen = false,
        bool fuse_addition = false)
      : op(*Norm().Bind({.device = device.get(),
                         .batch = batch,
                         .dtype = DType::kFloat64,
                         .training = training,
                         .frozen = frozen,
                         .inputs = {Shape{1}},
                         .output = Shape{1},
                         .fuse_addition = fuse_addition,
                         .fuse_relu = fuse_relu})),
        workspace_memory(ZeroTensor(DType::kUint8, {int64_t(op->traits().workspace_bytes)})),
        workspace(workspace_memory.raw_data(), op->traits().workspace_bytes) {
    const size_t kept = op->traits().kept_bytes;
    if (kept > 0) {
      EXPECT_EQ(op->Keep(*Buffer::Allocate(Device::Cpu(), kept)), absl::OkStatus());
    }
    const Shape sample{1};
    for (const ParameterSpec& spec : Norm().Parameters({&sample, 1}, TensorFormat::kNHWC)) {
      parameters.push_back({ZeroTensor(DType::kFloat64, spec.shape), 1});
      spec.initializer.Fill(parameters.back().tensor, Philox(1, 2));
    }
  }

  std::vector<double> Forward(const std::vector<double>& values) {
    x = TensorOf(DType::kFloat64, {int64_t(values.size()), 1}, values);
    const Tensor y = ZeroTensor(DType::kFloat64, x.shape());
    for (ParameterView& parameter : parameters) ++parameter.version;
    EXPECT_TRUE(
        op->Forward(
              {.inputs = {&x, 1}, .output = y, .parameters = parameters, .workspace = workspace})
            .ok());
    return Values(y);
  }
  double Parameter(int which) const { return Values(parameters[size_t(which)].tensor)[0]; }

  std::unique_ptr<DeviceContext> device = *DeviceContext::Create(Device::Cpu());
  std::unique_ptr<LayerOp> op;
  Tensor workspace_memory;
  Workspace workspace;
  std::vector<ParameterView> parameters;
  Tensor x;
};

TEST(BatchNormalizationLayerTest, Gradients) {
  for (const TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
    EXPECT_TRUE(CheckGradients(Norm(), {SampleShape({3, 5, 4}, format)}, format));
    EXPECT_TRUE(CheckGradients(Norm(), {SampleShape({1, 1, 17}, format)}, format, 5));
    EXPECT_TRUE(
        CheckGradients(Norm({.epsilon = 0.1}), {SampleShape({4, 4, 1}, format)}, format, 1));
    EXPECT_TRUE(CheckGradients(Norm(), {Shape{9}}, format, 6));
  }
}

TEST(BatchNormalizationLayerTest, GoldenValues) {
  Bench bench(4, /*training=*/true);
  EXPECT_TRUE(
      Close(bench.Forward({1, 2, 3, 4}), {-1.34163542, -0.44721181, 0.44721181, 1.34163542}, 5e-9));
  EXPECT_NEAR(bench.Parameter(Norm::kRunningMean), 0.25, 1e-15);
  EXPECT_NEAR(bench.Parameter(Norm::kRunningVar), 1.025, 1e-15);
  const Tensor dy = TensorOf(DType::kFloat64, {4, 1}, {1, 0, 0, 0});
  const Tensor dx = ZeroTensor(DType::kFloat64, {4, 1});
  const Tensor gradients[] = {ZeroTensor(DType::kFloat64, {1}), ZeroTensor(DType::kFloat64, {1})};
  const bool accumulate = false;
  const auto backward = [&](const Tensor& wanted) {
    return bench.op->Backward({.inputs = {&bench.x, 1},
                               .output = Tensor(),
                               .dy = dy,
                               .dx = {&wanted, 1},
                               .accumulate = {&accumulate, 1},
                               .parameters = bench.parameters,
                               .gradients = gradients,
                               .state = Tensor(),
                               .workspace = bench.workspace});
  };
  ASSERT_TRUE(backward(dx).ok());
  EXPECT_NEAR(Values(gradients[Norm::kBeta])[0], 1, 1e-15);
  EXPECT_NEAR(Values(gradients[Norm::kGamma])[0], -1.34163542, 5e-9);
  EXPECT_TRUE(Close(Values(dx), {0.26833030, -0.35776837, -0.08944343, 0.17888150}, 5e-9));
  EXPECT_TRUE(backward(Tensor()).ok()) << "no gradient of the input wanted";
}

TEST(BatchNormalizationLayerTest, EvaluationUsesAndKeepsTheRunningStatistics) {
  Bench bench(4, /*training=*/false);
  const double one = 1 / std::sqrt(1 + 1e-5);  // before training: mean 0, variance 1
  EXPECT_TRUE(Close(bench.Forward({1, 2, -3}), {one, 2 * one, -3 * one}, 1e-15));
  bench.parameters[Norm::kRunningMean].tensor = TensorOf(DType::kFloat64, {1}, {2});
  bench.parameters[Norm::kRunningVar].tensor = TensorOf(DType::kFloat64, {1}, {4});
  bench.parameters[Norm::kGamma].tensor = TensorOf(DType::kFloat64, {1}, {3});
  bench.parameters[Norm::kBeta].tensor = TensorOf(DType::kFloat64, {1}, {-1});
  EXPECT_TRUE(Close(bench.Forward({4}), {3 * 2 / std::sqrt(4 + 1e-5) - 1}, 1e-15));
  EXPECT_EQ(bench.Parameter(Norm::kRunningMean), 2);
  EXPECT_EQ(bench.Parameter(Norm::kRunningVar), 4);
}

TEST(BatchNormalizationLayerTest, FrozenItDoesInTrainingWhatEvaluationDoes) {
  for (const bool relu : {false, true}) {
    Bench training(4, /*training=*/true, relu, /*frozen=*/true), evaluation(4, false, relu);
    EXPECT_FALSE(training.op->traits().changes_statistics);
    for (Bench* bench : {&training, &evaluation}) {
      bench->parameters[Norm::kRunningMean].tensor = TensorOf(DType::kFloat64, {1}, {2});
    }
    EXPECT_EQ(training.Forward({1, 5, -3}), evaluation.Forward({1, 5, -3}));
    EXPECT_EQ(training.Parameter(Norm::kRunningMean), 2);
    EXPECT_EQ(training.Parameter(Norm::kRunningVar), 1);
  }
}

TEST(BatchNormalizationLayerTest, AppliesAFusedRelu) {
  EXPECT_TRUE(Norm().absorbs().relu);
  for (const bool training : {false, true}) {
    Bench bench(2, training, /*fuse_relu=*/true);
    EXPECT_TRUE(bench.op->traits().backward_includes_fused);
    const std::vector<double> y = bench.Forward({-1, 1});
    EXPECT_EQ(y[0], 0);
    EXPECT_NEAR(y[1], 1, 1e-4);
  }
}

// Cut where the relu is 0, whether or not the gradient of x is wanted too.
TEST(BatchNormalizationLayerTest, TheAddendHasItsGradientAlone) {
  for (const bool frozen : {false, true}) {
    Bench bench(4, /*training=*/true, /*fuse_relu=*/true, frozen, /*fuse_addition=*/true);
    const Shape shape = {4, 1};
    const Tensor inputs[] = {TensorOf(DType::kFloat64, shape, {1, 5, -3, 0.5}),
                             TensorOf(DType::kFloat64, shape, {0.25, -9, 4, -3})};
    const Tensor y = ZeroTensor(DType::kFloat64, shape);
    for (ParameterView& parameter : bench.parameters) ++parameter.version;
    ASSERT_TRUE(bench.op
                    ->Forward({.inputs = inputs,
                               .output = y,
                               .parameters = bench.parameters,
                               .workspace = bench.workspace})
                    .ok());
    const std::vector<double> output = Values(y), gradient = {0.5, -2, 3, -1.5};
    const Tensor dx[] = {Tensor(), ZeroTensor(DType::kFloat64, shape)};
    const bool accumulate[] = {false, false};
    const Tensor of_line[] = {ZeroTensor(DType::kFloat64, {1}), ZeroTensor(DType::kFloat64, {1})};
    ASSERT_TRUE(bench.op
                    ->Backward({.inputs = inputs,
                                .output = y,
                                .dy = TensorOf(DType::kFloat64, shape, gradient),
                                .dx = dx,
                                .accumulate = accumulate,
                                .parameters = bench.parameters,
                                .gradients = std::span(of_line).first(frozen ? 0 : 2),
                                .state = Tensor(),
                                .workspace = bench.workspace})
                    .ok());
    const std::vector<double> addend = Values(dx[1]);
    for (size_t i = 0; i < 4; ++i) {
      EXPECT_EQ(output[i] > 0, i % 2 == 0) << i;
      EXPECT_EQ(addend[i], i % 2 == 0 ? gradient[i] : 0) << i << (frozen ? ", frozen" : "");
    }
  }
}

TEST(BatchNormalizationLayerTest, TheLayerBeforeGetsItsScaleAndShift) {
  Bench bench(1, /*training=*/false);
  const double values[4] = {-1, 3, 4, 2};  // beta, gamma, running variance and mean
  for (size_t i = 0; i < 4; ++i) {
    bench.parameters[i].tensor = TensorOf(DType::kFloat64, {1}, {values[i]});
  }
  const Tensor scale = ZeroTensor(DType::kFloat64, {1}), shift = ZeroTensor(DType::kFloat64, {1});
  const Norm norm({.epsilon = 0.5});
  ASSERT_TRUE(
      norm.ScaleAndShift(bench.parameters, TensorOf(DType::kFloat64, {1}, {0.75}), scale, shift)
          .ok());
  EXPECT_NEAR(Values(scale)[0], 3 / std::sqrt(4.5), 1e-15);
  EXPECT_NEAR(Values(shift)[0], 3 * (0.75 - 2) / std::sqrt(4.5) - 1, 1e-15);
}

TEST(BatchNormalizationLayerTest, OneSampleIsItsOwnMean) {
  Bench bench(1, /*training=*/true);
  EXPECT_EQ(bench.Forward({7}), std::vector<double>{0});
  EXPECT_NEAR(bench.Parameter(Norm::kRunningMean), 0.7, 1e-15);
  EXPECT_NEAR(bench.Parameter(Norm::kRunningVar), 0.9, 1e-15);
}

TEST(BatchNormalizationLayerTest, FourParametersPerChannelTwoOfThemTrained) {
  for (const TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
    const Shape image = SampleShape({4, 6, 5}, format);
    const auto parameters = Norm().Parameters({&image, 1}, format);
    ASSERT_EQ(parameters.size(), 4u);
    for (const ParameterSpec& parameter : parameters) {
      EXPECT_EQ(parameter.shape, Shape{5});
      EXPECT_EQ(parameter.trainable, parameter.name == "beta" || parameter.name == "gamma");
    }
    EXPECT_EQ(Norm().WeightsCell({&image, 1}, format), "");
    EXPECT_EQ(*Norm().OutputShape({&image, 1}, format), image);
  }
}

TEST(BatchNormalizationLayerTest, RefusesWhatIsNeitherImageNorVector) {
  const Shape matrix = {3, 4};
  EXPECT_FALSE(Norm().OutputShape({&matrix, 1}, TensorFormat::kNHWC).ok());
  EXPECT_FALSE(Norm().OutputShape({}, TensorFormat::kNHWC).ok());
}

TEST(BatchNormalizationLayerTest, ConstantsHaveTheirRanges) {
  const auto message = [](const BatchNormalizationOptions& options) {
    const Shape vector{3};
    return std::string(
        Norm(options).OutputShape({&vector, 1}, TensorFormat::kNHWC).status().message());
  };
  for (const double momentum : {0.0, 1.0}) EXPECT_EQ(message({.momentum = momentum}), "");
  EXPECT_EQ(message({.momentum = -0.25}), "has a momentum of -0.25; expected 0 to 1");
  EXPECT_EQ(message({.momentum = 1.25}), "has a momentum of 1.25; expected 0 to 1");
  EXPECT_EQ(message({.epsilon = 1e-300}), "");
  EXPECT_EQ(message({.epsilon = 0}), "has an epsilon of 0; expected a finite number above 0");
  EXPECT_EQ(message({.epsilon = INFINITY}),
            "has an epsilon of inf; expected a finite number above 0");
}

}  // namespace
}  // namespace dtnn
