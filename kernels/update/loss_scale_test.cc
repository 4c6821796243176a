#include "kernels/update/loss_scale.h"

#include <cmath>
#include <limits>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/sum_of_squares/sum_of_squares.h"
#include "kernels/testing/gpu_testing.h"
#include "kernels/update/update.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using testing::Get;
using testing::Put;
using testing::TensorOf;
using testing::Values;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

class LossScaleTest : public ::testing::TestWithParam<Device> {
 protected:
  void SetUp() override {
    DTNN_GPU_OR_SKIP_AT(gpu, GetParam());
    gpu_ = std::move(gpu);
    scale_ = *LossScale::Create(*gpu_);
    sum_ = *CreateSumOfSquares(*gpu_, DType::kFloat32);
    squares_ = Put(*gpu_, TensorOf(DType::kFloat64, {1}, {0}));
  }
  Tensor Floats(const std::vector<double>& values) const {
    return Put(*gpu_, TensorOf(DType::kFloat32, {int64_t(values.size())}, values));
  }
  // Judges scaled gradients.
  void Judge(const std::vector<double>& gradients, const Tensor& closed = Tensor()) {
    ASSERT_EQ(sum_->Queue(Floats(gradients), squares_), absl::OkStatus());
    ASSERT_EQ(scale_->Judge(squares_, closed), absl::OkStatus());
  }
  double One(const Tensor& tensor) { return Values(Get(*gpu_, tensor))[0]; }

  std::unique_ptr<DeviceContext> gpu_;
  std::unique_ptr<LossScale> scale_;
  std::unique_ptr<SumOfSquares> sum_;
  Tensor squares_;
};

TEST_P(LossScaleTest, HalvesAndSkipsWhereAGradientIsNotFinite) {
  for (const double bad : {kInfinity, -kInfinity, std::nan("")}) {
    ASSERT_EQ(scale_->Write({.scale = 1024, .good_steps = 7, .skipped_steps = 3}),
              absl::OkStatus());
    Judge({1, bad, 2});
    EXPECT_EQ(One(scale_->gates().closed), 1);
    EXPECT_EQ(*scale_->Read(), (LossScaleState{512, 0, 4}));
    Judge({1, 3});
    EXPECT_EQ(One(scale_->gates().closed), 0);
    EXPECT_EQ(*scale_->Read(), (LossScaleState{512, 1, 4}));
    EXPECT_EQ(One(scale_->gates().factor), 1.0 / 512);
    EXPECT_EQ(One(squares_), 10.0 / 512 / 512);
  }
}

TEST_P(LossScaleTest, DoublesAfterManyGoodSteps) {
  ASSERT_EQ(scale_->Write({.scale = 1024, .good_steps = LossScaleState::kGoodSteps - 2}),
            absl::OkStatus());
  Judge({1});
  EXPECT_EQ(scale_->Read()->scale, 1024);
  Judge({1});
  EXPECT_EQ(*scale_->Read(), (LossScaleState{2048, 0, 0}));
  // The update that was judged was computed with the scale before.
  EXPECT_EQ(One(scale_->gates().factor), 1.0 / 1024);
}

TEST_P(LossScaleTest, BeginsAt65536AndStaysInItsRange) {
  EXPECT_EQ(*scale_->Read(), (LossScaleState{65536, 0, 0}));
  ASSERT_EQ(scale_->Write({.scale = LossScaleState::kLeast}), absl::OkStatus());
  Judge({kInfinity});
  EXPECT_EQ(scale_->Read()->scale, LossScaleState::kLeast);
  ASSERT_EQ(
      scale_->Write({.scale = LossScaleState::kMost, .good_steps = LossScaleState::kGoodSteps - 1}),
      absl::OkStatus());
  Judge({0});
  EXPECT_EQ(scale_->Read()->scale, LossScaleState::kMost);
  for (const LossScaleState& state : {LossScaleState{0},
                                      {3},
                                      {-2},
                                      {float(kInfinity)},
                                      {std::nanf("")},
                                      {0x1p40f},
                                      {2, -1},
                                      {2, LossScaleState::kGoodSteps},
                                      {2, 0, -1}}) {
    EXPECT_EQ(scale_->Write(state).code(), absl::StatusCode::kInvalidArgument) << state.scale;
  }
}

TEST_P(LossScaleTest, OtherReasonsCloseTheGateAndClippingShortens) {
  Judge({1}, Put(*gpu_, TensorOf(DType::kInt32, {1}, {1})));
  EXPECT_EQ(One(scale_->gates().closed), 1);
  EXPECT_EQ(scale_->Read()->scale, 65536);
  Judge({1}, Put(*gpu_, TensorOf(DType::kInt32, {1}, {0})));
  EXPECT_EQ(One(scale_->gates().closed), 0);
  ASSERT_EQ(scale_->Shorten(Put(*gpu_, TensorOf(DType::kFloat64, {1}, {0.25}))), absl::OkStatus());
  EXPECT_EQ(One(scale_->gates().factor), 0.25 / 65536);
}

// Parameters and slots end as they do where the skipped step was never taken.
TEST_P(LossScaleTest, ASkippedStepLeavesNoTrace) {
  for (const UpdateRule rule : {UpdateRule::kSgd, UpdateRule::kRmsprop, UpdateRule::kAdam,
                                UpdateRule::kNadam, UpdateRule::kAdamw}) {
    const UpdateSpec spec = {.rule = rule, .decay = 0.01, .average_decay = 0.4};
    std::vector<std::vector<double>> ends[2];
    for (const bool scaled : {false, true}) {
      ASSERT_EQ(scale_->Write({}), absl::OkStatus());
      const auto update = *CreateUpdate(*gpu_, spec);
      const Tensor w = Floats({1, -2, 3});
      std::vector<Tensor> slots;
      for (int i = 0; i < spec.slots(); ++i) slots.push_back(Floats({0, 0, 0}));
      int64_t step = 0;
      double scale = 65536;
      for (const double size : {0.5, kInfinity, 0.25, kInfinity, kInfinity, 0.125}) {
        if (!scaled && std::isinf(size)) continue;
        ASSERT_EQ(update->SetStep({.learning_rate = 0.1, .step = ++step}), absl::OkStatus());
        std::vector<double> gradients = {size, -size, 2 * size};
        for (double& each : gradients) each *= scaled ? scale : 1;
        if (scaled) {
          Judge(gradients);
          if (std::isinf(size)) scale /= 2;
        }
        ASSERT_EQ(
            update->Run(w, Floats(gradients), slots, scaled ? scale_->gates() : UpdateGates()),
            absl::OkStatus());
      }
      ends[scaled].push_back(Values(Get(*gpu_, w)));
      for (const Tensor& slot : slots) ends[scaled].push_back(Values(Get(*gpu_, slot)));
    }
    EXPECT_EQ(ends[0], ends[1]) << int(rule);
    EXPECT_EQ(scale_->Read()->skipped_steps, 3);
  }
}

INSTANTIATE_TEST_SUITE_P(All, LossScaleTest,
                         ::testing::Values(Device::Simulated(0), Device::Cuda(0)));

TEST(LossScaleOnCpuTest, IsNotThere) {
  const auto cpu = *DeviceContext::Create(Device::Cpu());
  EXPECT_EQ(LossScale::Create(*cpu).status().code(), absl::StatusCode::kUnimplemented);
}

}  // namespace
}  // namespace dtnn
