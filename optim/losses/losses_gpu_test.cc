// Every loss on a GPU as on the CPU: from logits and from probabilities, of classes and of rows of
// values, with and without a gradient, in place.

#include <cmath>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/testing/gpu_testing.h"
#include "optim/losses/losses.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using testing::Close;
using testing::Get;
using testing::Put;
using testing::RandomTensor;
using testing::TensorOf;
using testing::Values;

struct Result {
  std::vector<double> losses, probabilities, gradient;
};

Result RunOn(DeviceContext& context, const Loss& loss, bool from_logits, const Tensor& x,
             const Tensor& targets, bool in_place) {
  const auto op = *loss.Bind({.device = &context,
                              .batch = x.shape()[0],
                              .outputs = x.shape()[1],
                              .dtype = x.dtype(),
                              .from_logits = from_logits});
  EXPECT_EQ(op->CheckTargets(targets), absl::OkStatus());
  const Tensor zeros = testing::ZeroTensor(x.dtype(), x.shape());
  const Tensor device_x = Put(context, x), device_targets = Put(context, targets);
  const Tensor losses = Put(context, testing::ZeroTensor(x.dtype(), Shape{x.shape()[0]}));
  const Tensor y = Put(context, zeros), dx = in_place ? device_x : Put(context, zeros);
  EXPECT_EQ(op->Run(device_x, device_targets, y, losses, dx, 0.25), absl::OkStatus());
  Result result = {Values(Get(context, losses)), Values(Get(context, y)), Values(Get(context, dx))};
  if (in_place) return result;
  EXPECT_EQ(op->Run(device_x, device_targets, from_logits ? device_x : y, losses, Tensor(), 0),
            absl::OkStatus());
  EXPECT_EQ(Values(Get(context, losses)), result.losses) << "without a gradient";
  if (from_logits) {
    EXPECT_EQ(Values(Get(context, device_x)), result.probabilities);
  }
  return result;
}

class LossesGpuTest : public ::testing::TestWithParam<std::tuple<Device, DType>> {
 protected:
  void SetUp() override {
    DTNN_GPU_OR_SKIP_AT(gpu, std::get<0>(GetParam()));
    gpu_ = std::move(gpu);
  }
  void ExpectSameAsCpu(const Loss& loss, bool from_logits, const Tensor& targets, int64_t columns) {
    const DType dtype = std::get<1>(GetParam());
    const double tolerance = dtype == DType::kFloat32 ? 1e-5 : 1e-12;
    Tensor x = RandomTensor(dtype, Shape{targets.shape()[0], columns}, 1);
    std::vector<double> values = Values(x);
    for (double& value : values) value = from_logits ? 3 * value : 0.4 + 0.3 * value;
    if (from_logits) values[3] = 500;  // certain
    x = TensorOf(dtype, x.shape(), values);
    for (const bool in_place : {false, true}) {
      const Result expected = RunOn(*cpu_, loss, from_logits, x, targets, in_place);
      const Result actual = RunOn(*gpu_, loss, from_logits, x, targets, in_place);
      EXPECT_TRUE(Close(actual.losses, expected.losses, tolerance));
      EXPECT_TRUE(Close(actual.gradient, expected.gradient, tolerance));
      if (from_logits) {
        EXPECT_TRUE(Close(actual.probabilities, expected.probabilities, tolerance));
      }
    }
  }

  std::unique_ptr<DeviceContext> gpu_, cpu_ = *DeviceContext::Create(Device::Cpu());
};

TEST_P(LossesGpuTest, SameAsOnTheCpu) {
  const DType dtype = std::get<1>(GetParam());
  for (const std::string_view name : LossNames()) {
    for (const double smoothing : {0.0, 0.2}) {
      const auto loss = *MakeLoss(name, {.label_smoothing = smoothing});
      for (const int64_t columns : {4, 37}) {
        const Tensor classes = TensorOf(DType::kInt32, Shape{5}, {0, 3, 1, 2, 3});
        std::vector<double> shares;
        for (int64_t i = 0; i < 5 * columns; ++i) {
          shares.push_back(i % columns == 1 ? 0.75 : (i % columns == 2 ? 0.25 : 0));
        }
        const Tensor rows = TensorOf(dtype, Shape{5, columns}, shares);
        for (const bool from_logits : {false, true}) {
          if (from_logits && loss->absorbs() == FinalActivation::kOther) continue;
          SCOPED_TRACE(std::string(name) + (from_logits ? " from logits" : ""));
          if (loss->TakesClasses()) ExpectSameAsCpu(*loss, from_logits, classes, columns);
          if (loss->TakesDistributions()) ExpectSameAsCpu(*loss, from_logits, rows, columns);
        }
      }
    }
  }
}

TEST_P(LossesGpuTest, ClassWeightsCountAsOnTheCpu) {
  const DType dtype = std::get<1>(GetParam());
  for (const int64_t columns : {4, 37}) {
    std::vector<double> weights, shares;
    for (int64_t j = 0; j < columns; ++j) weights.push_back(j == 2 ? 0 : 0.25 * double(j % 7));
    for (int64_t i = 0; i < 5 * columns; ++i) {
      shares.push_back(i % columns == 1 ? 0.75 : (i % columns == 3 ? 0.25 : 0));
    }
    const Tensor classes = TensorOf(DType::kInt32, Shape{5}, {0, 3, 1, 2, 3});
    const Tensor rows = TensorOf(dtype, Shape{5, columns}, shares);
    for (const double smoothing : {0.0, 0.2}) {
      const auto loss = *MakeLoss("categorical_cross_entropy",
                                  {.label_smoothing = smoothing, .class_weights = weights});
      for (const bool from_logits : {false, true}) {
        ExpectSameAsCpu(*loss, from_logits, classes, columns);
        ExpectSameAsCpu(*loss, from_logits, rows, columns);
      }
    }
  }
}

TEST_P(LossesGpuTest, ANaNShows) {
  const DType dtype = std::get<1>(GetParam());
  for (const std::string_view name : LossNames()) {
    const auto loss = *MakeLoss(name);
    const Tensor x = TensorOf(dtype, Shape{1, 3}, {0.5, std::nan(""), 0.25});
    const Tensor rows = TensorOf(dtype, Shape{1, 3}, {0, 1, 0});
    EXPECT_TRUE(std::isnan(RunOn(*gpu_, *loss, false, x, rows, /*in_place=*/true).losses[0]))
        << name;
  }
}

TEST_P(LossesGpuTest, TargetsAreCheckedOnTheHost) {
  const DType dtype = std::get<1>(GetParam());
  for (const std::string_view name : {"categorical_cross_entropy", "binary_cross_entropy"}) {
    const auto op =
        *(*MakeLoss(name))->Bind({.device = gpu_.get(), .batch = 1, .outputs = 2, .dtype = dtype});
    EXPECT_EQ(op->CheckTargets(TensorOf(dtype, Shape{1, 2}, {1.5, -0.5})).code(),
              absl::StatusCode::kInvalidArgument);
  }
}

// The CPU computes the same in float32 from rounded operands; only the gradient, and the
// probabilities of a sigmoid, are rounded when they are written. A loss scale multiplies the
// gradient.
TEST_P(LossesGpuTest, SixteenBitsAreRoundedOnce) {
  if (std::get<1>(GetParam()) != DType::kFloat32) return;
  for (const auto& [half, rounding] :
       {std::pair(DType::kBfloat16, 0x1p-8), {DType::kFloat16, 0x1p-11}}) {
    for (const std::string_view name : LossNames()) {
      const auto loss = *MakeLoss(name, {.label_smoothing = 0.1});
      for (const bool from_logits : {false, true}) {
        if (from_logits && loss->absorbs() == FinalActivation::kOther) continue;
        for (const bool classes : {false, true}) {
          if (classes ? !loss->TakesClasses() : !loss->TakesDistributions()) continue;
          SCOPED_TRACE(std::string(name) + (from_logits ? " from logits" : "") +
                       (classes ? " classes" : " rows"));
          const Tensor targets =
              classes ? TensorOf(DType::kInt32, Shape{2}, {0, 2})
                      : TensorOf(DType::kFloat32, Shape{2, 3}, {0.75, 0.25, 0, 0, 1, 0});
          const Tensor x = TensorOf(half, Shape{2, 3}, {0.25, 0.5, 0.125, 0.7, 0.1, 0.3});
          const Result expected = RunOn(*cpu_, *loss, from_logits,
                                        TensorOf(DType::kFloat32, x.shape(), Values(x)), targets,
                                        /*in_place=*/false);
          const auto op = *loss->Bind({.device = gpu_.get(),
                                       .batch = 2,
                                       .outputs = 3,
                                       .dtype = half,
                                       .from_logits = from_logits});
          ASSERT_EQ(op->CheckTargets(targets), absl::OkStatus());
          const bool sigmoid = loss->absorbs() == FinalActivation::kSigmoid;
          const Tensor y =
              Put(*gpu_, testing::ZeroTensor(sigmoid ? half : DType::kFloat32, x.shape()));
          const Tensor losses = Put(*gpu_, testing::ZeroTensor(DType::kFloat32, Shape{2}));
          const Tensor dx = Put(*gpu_, testing::ZeroTensor(half, x.shape()));
          const Tensor scale = Put(*gpu_, TensorOf(DType::kFloat32, Shape{1}, {8}));
          ASSERT_EQ(op->Run(Put(*gpu_, x), Put(*gpu_, targets), y, losses, dx, {0.25, scale}),
                    absl::OkStatus());
          EXPECT_TRUE(Close(Values(Get(*gpu_, losses)), expected.losses, 1e-5));
          std::vector<double> gradient = expected.gradient;
          for (double& each : gradient) each *= 8;
          EXPECT_TRUE(Close(Values(Get(*gpu_, dx)), gradient, 1e-5, rounding));
          if (!from_logits) continue;
          EXPECT_TRUE(
              Close(Values(Get(*gpu_, y)), expected.probabilities, sigmoid ? rounding : 1e-5));
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, LossesGpuTest,
                         ::testing::Combine(::testing::Values(Device::Simulated(0),
                                                              Device::Cuda(0)),
                                            ::testing::Values(DType::kFloat32, DType::kFloat64)));

}  // namespace
}  // namespace dtnn
