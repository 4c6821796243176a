#include "kernels/update/gate.h"

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/testing/gpu_testing.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using testing::Get;
using testing::Put;
using testing::TensorOf;
using testing::Values;

class UpdateGateTest : public ::testing::TestWithParam<std::tuple<Device, DType>> {
 protected:
  void SetUp() override {
    DTNN_GPU_OR_SKIP_AT(context, std::get<0>(GetParam()));
    context_ = std::move(context);
  }
  Tensor Array(const std::vector<double>& values) {
    return Put(*context_, TensorOf(dtype_, {int64_t(values.size())}, values));
  }
  Tensor One(double value) { return Put(*context_, TensorOf(DType::kFloat64, {1}, {value})); }
  double At(const Tensor& tensor) { return Values(Get(*context_, tensor))[0]; }

  const DType dtype_ = std::get<1>(GetParam());
  std::unique_ptr<DeviceContext> context_;
};

TEST_P(UpdateGateTest, StaysClosedFromTheFirstLossThatIsNotFinite) {
  for (const double bad : {std::nan(""), std::numeric_limits<double>::infinity(),
                           -std::numeric_limits<double>::infinity()}) {
    const auto gate = *UpdateGate::Create(*context_, dtype_, 0);
    std::vector<double> losses(77, 1e30);
    ASSERT_EQ(gate->Watch(Array(losses)), absl::OkStatus());
    EXPECT_EQ(At(gate->gates().closed), 0);
    losses[70] = bad;
    ASSERT_EQ(gate->Watch(Array(losses)), absl::OkStatus());
    EXPECT_EQ(At(gate->gates().closed), 1);
    ASSERT_EQ(gate->Watch(Array({1, 2})), absl::OkStatus());
    EXPECT_EQ(At(gate->gates().closed), 1);
    ASSERT_EQ(gate->Reset(), absl::OkStatus());
    EXPECT_EQ(At(gate->gates().closed), 0);
  }
}

// Wherever it is, also the only one.
TEST_P(UpdateGateTest, LooksAtEveryLoss) {
  for (const auto& [count, place] :
       {std::pair(1, 0), std::pair(2, 1), std::pair(33, 0), std::pair(33, 32), std::pair(64, 63)}) {
    const auto gate = *UpdateGate::Create(*context_, dtype_, 0);
    std::vector<double> losses(size_t(count), 0.5);
    losses[size_t(place)] = std::nan("");
    ASSERT_EQ(gate->Watch(Array(losses)), absl::OkStatus());
    EXPECT_EQ(At(gate->gates().closed), 1) << place << " of " << count;
  }
}

TEST_P(UpdateGateTest, ShortensOnlyWhatIsTooLong) {
  const auto gate = *UpdateGate::Create(*context_, dtype_, 5);
  ASSERT_EQ(gate->SetGradientScale(0.5), absl::OkStatus());
  ASSERT_EQ(gate->Clip(One(64)), absl::OkStatus());
  EXPECT_EQ(At(gate->norm()), 4);
  EXPECT_EQ(At(gate->gates().factor), 1);
  ASSERT_EQ(gate->Clip(One(400)), absl::OkStatus());
  EXPECT_EQ(At(gate->norm()), 10);
  EXPECT_EQ(At(gate->gates().factor), 0.5);
  ASSERT_EQ(gate->Clip(One(std::nan(""))), absl::OkStatus());
  EXPECT_EQ(At(gate->gates().factor), 1) << "a NaN shows in the parameters, as without clipping";
}

// All rules: a closed gate changes nothing, a factor is a smaller scale.
TEST_P(UpdateGateTest, UpdatesGoThroughIt) {
  for (const UpdateRule rule : {UpdateRule::kSgd, UpdateRule::kRmsprop, UpdateRule::kAdam}) {
    const UpdateSpec spec = {.rule = rule, .dtype = dtype_};
    const auto update = *CreateUpdate(*context_, spec);
    const auto run = [&](double scale, const UpdateGates& gates) {
      const Tensor w = Array({1, 2, 3}), g = Array({0.5, -2, 4});
      std::vector<Tensor> slots;
      for (int slot = 0; slot < spec.slots(); ++slot) slots.push_back(Array({1, 1, 1}));
      EXPECT_EQ(update->SetStep({.learning_rate = 0.1, .step = 3, .gradient_scale = scale}),
                absl::OkStatus());
      EXPECT_EQ(update->Run(w, g, slots, gates), absl::OkStatus());
      std::vector<double> values = Values(Get(*context_, w));
      for (const Tensor& slot : slots) {
        for (const double value : Values(Get(*context_, slot))) values.push_back(value);
      }
      return values;
    };
    EXPECT_EQ(run(2, {.factor = One(0.25)}), run(0.5, {}));
    EXPECT_EQ(run(2, {.factor = One(1)}), run(2, {}));
    std::vector<double> same = {1, 2, 3};
    same.resize(size_t(3 + 3 * spec.slots()), 1);
    EXPECT_EQ(run(2, {.closed = Put(*context_, TensorOf(DType::kInt32, {1}, {1}))}), same);
  }
}

TEST_P(UpdateGateTest, RefusesWhatItWasNotMadeFor) {
  EXPECT_FALSE(UpdateGate::Create(*context_, DType::kInt32, 1).ok());
  EXPECT_FALSE(UpdateGate::Create(*context_, dtype_, std::nan("")).ok());
  const auto gate = *UpdateGate::Create(*context_, dtype_, 0);
  EXPECT_EQ(gate->Clip(One(1)).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(gate->Watch(Put(*context_, TensorOf(DType::kInt32, {1}, {1}))).code(),
            absl::StatusCode::kInvalidArgument);
}

INSTANTIATE_TEST_SUITE_P(, UpdateGateTest,
                         ::testing::Combine(::testing::Values(Device::Cpu(), Device::Simulated(0),
                                                              Device::Cuda(0)),
                                            ::testing::Values(DType::kFloat32, DType::kFloat64)));

}  // namespace
}  // namespace dtnn
