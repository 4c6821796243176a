#include "kernels/update/update.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/update/reference.h"
#include "tensor/threads/parallel_for.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using testing::Close;
using testing::KeepsNaN;
using testing::NaNTensor;
using testing::RandomTensor;
using testing::TensorOf;
using testing::Values;
using testing::ZeroTensor;
using Doubles = std::vector<double>;

class UpdateTest : public ::testing::TestWithParam<DType> {
 protected:
  std::unique_ptr<Update> Create(UpdateSpec spec) const {
    spec.dtype = GetParam();
    return *CreateUpdate(*context_, spec);
  }
  std::vector<Tensor> Slots(const UpdateSpec& spec, int64_t n) const {
    std::vector<Tensor> slots;
    while (int(slots.size()) < spec.slots()) slots.push_back(ZeroTensor(GetParam(), {n}));
    return slots;
  }
  // The parameter after each of the steps that the golden values are for: w = 1, learning rate
  // 0.01, gradients 0.5 then -0.25.
  Doubles TwoSteps(const UpdateSpec& spec) const {
    const auto update = Create(spec);
    const Tensor w = TensorOf(GetParam(), {1}, {1});
    const std::vector<Tensor> slots = Slots(spec, 1);
    Doubles values;
    for (const int64_t step : {1, 2}) {
      const Tensor g = TensorOf(GetParam(), {1}, {step == 1 ? .5 : -.25});
      EXPECT_TRUE(update->Run(w, g, slots, {.learning_rate = .01, .step = step}).ok());
      values.push_back(Values(w)[0]);
    }
    return values;
  }
  double tolerance() const {
    return 4 * (GetParam() == DType::kFloat32 ? std::numeric_limits<float>::epsilon()
                                              : std::numeric_limits<double>::epsilon());
  }

  std::unique_ptr<DeviceContext> context_ = *DeviceContext::Create(Device::Cpu());
};

TEST_P(UpdateTest, GoldenSgd) {
  EXPECT_TRUE(Close(TwoSteps({.momentum = .9}), {.995, .993}, tolerance()));
  EXPECT_TRUE(Close(TwoSteps({.momentum = .9, .nesterov = true}), {.9905, .9912}, tolerance()));
  EXPECT_TRUE(Close(TwoSteps({.momentum = .9, .decay = .1}), {.994, .991006}, tolerance()));
  EXPECT_TRUE(Close(TwoSteps({.momentum = 0}), {.995, .9975}, tolerance()));
}

TEST_P(UpdateTest, GoldenAdam) {
  const Doubles steps =
      TwoSteps({.rule = UpdateRule::kAdam, .beta1 = .99, .beta2 = .999, .epsilon = 1e-7});
  // The published values have eleven digits.
  EXPECT_TRUE(Close(steps, {.99000000200, .98688493033}, tolerance() + 5e-12));
}

// Computed from the formulas with forty digits.
TEST_P(UpdateTest, GoldenRmspropNadamAndAdamw) {
  const UpdateSpec rmsprop = {.rule = UpdateRule::kRmsprop, .rho = .9, .epsilon = 1e-7};
  EXPECT_TRUE(Close(TwoSteps(rmsprop), {.9683772866436797, .9831214566171569}, tolerance()));
  UpdateSpec adam = {.rule = UpdateRule::kNadam, .beta1 = .99, .beta2 = .999, .epsilon = 1e-7};
  EXPECT_TRUE(Close(TwoSteps(adam), {.9800000039999988, .9800635768911261}, tolerance()));
  adam.rule = UpdateRule::kAdamw;
  EXPECT_TRUE(Close(TwoSteps(adam), {.99000000200000, .98688493012582}, tolerance() + 1e-14));
  adam.decay = .1;
  EXPECT_TRUE(Close(TwoSteps(adam), {.98900000200000, .98489593012382}, tolerance() + 1e-14));
}

// The parameters are 0.995 and 0.993 after the two steps. Weights of 2/11 and 3/12 of what was
// before, as long as they are less than the decay.
TEST_P(UpdateTest, GoldenAverage) {
  const auto average = [&](double decay) {
    const UpdateSpec spec = {.momentum = .9, .average_decay = decay};
    const auto update = Create(spec);
    const Tensor w = TensorOf(GetParam(), {1}, {1}), velocity = ZeroTensor(GetParam(), {1}),
                 e = TensorOf(GetParam(), {1}, {1});
    for (const int64_t step : {1, 2}) {
      const Tensor g = TensorOf(GetParam(), {1}, {step == 1 ? .5 : -.25});
      EXPECT_TRUE(
          update->Run(w, g, std::vector{velocity, e}, {.learning_rate = .01, .step = step}).ok());
    }
    return Values(e);
  };
  const double late = 2. / 11 + 9. / 11 * .995;
  EXPECT_TRUE(Close(average(.999), {.25 * late + .75 * .993}, tolerance()));
  EXPECT_TRUE(Close(average(.1), {.1 * (.1 + .9 * .995) + .9 * .993}, tolerance()));
}

// Every rule, with what it can be given.
const std::vector<UpdateSpec>& Specs() {
  static const std::vector<UpdateSpec> specs = {
      {.momentum = 0, .decay = .01},
      {.momentum = .9},
      {.momentum = .9, .nesterov = true, .decay = .1},
      {.rule = UpdateRule::kRmsprop, .rho = .8, .epsilon = 1e-3, .decay = .1},
      {.rule = UpdateRule::kAdam, .decay = .01},
      {.rule = UpdateRule::kNadam, .beta1 = .9, .epsilon = 1e-3, .decay = .01},
      {.rule = UpdateRule::kAdamw, .beta1 = .9, .epsilon = 1e-3, .decay = .01},
      {.momentum = 0, .average_decay = .5},
      {.momentum = .9, .nesterov = true, .decay = .1, .average_decay = .2},
      {.rule = UpdateRule::kRmsprop, .rho = .8, .epsilon = 1e-3, .average_decay = .999},
      {.rule = UpdateRule::kAdamw, .beta1 = .9, .epsilon = 1e-3, .average_decay = .3},
  };
  return specs;
}

TEST_P(UpdateTest, EqualsReferenceForEveryLengthAndRule) {
  for (UpdateSpec spec : Specs()) {
    for (const int64_t n : {1, 3, 4, 7, 8, 9, 15, 16, 17, 31, 33, 70001}) {
      spec.without_decay = {{0, n / 4}, {n / 2, n / 2 + 1}};
      const Tensor w = RandomTensor(GetParam(), {n}, 1);
      Doubles expected = Values(w), first(static_cast<size_t>(n)), second(first), average(first);
      const std::vector<Tensor> slots = Slots(spec, n);
      const auto update = Create(spec);
      for (int64_t step = 1; step <= 3; ++step) {
        const UpdateStep at = {.learning_rate = .01, .step = step, .gradient_scale = .75};
        const Tensor g = RandomTensor(GetParam(), {n}, uint64_t(step + 1));
        const Doubles gradients = Values(g);
        ASSERT_TRUE(update->Run(w, g, slots, at).ok());
        for (int64_t i = 0; i < n; ++i) {
          const bool decays = i >= n / 4 && i != n / 2;
          const size_t k = size_t(i);
          reference::UpdateParameter(spec, at, decays, gradients[k], expected[k], first[k],
                                     second[k]);
          reference::UpdateAverage(spec, double(step), expected[k], average[k]);
        }
      }
      // Adam's step has the size of the learning rate whatever the gradient, so a sum of moments
      // that nearly cancels costs relative, not absolute accuracy.
      EXPECT_TRUE(Close(Values(w), expected, 4 * tolerance())) << int(spec.rule) << " " << n;
      if (!spec.averages()) continue;
      EXPECT_TRUE(Close(Values(slots.back()), average, 4 * tolerance()))
          << int(spec.rule) << " " << n;
    }
  }
}

// The average is there without a change of what is averaged.
TEST_P(UpdateTest, AnAverageChangesNoBitOfTheRest) {
  for (UpdateSpec spec : Specs()) {
    const auto run = [&](double average_decay) {
      spec.average_decay = average_decay;
      const Tensor w = RandomTensor(GetParam(), {1003}, 1), g = RandomTensor(GetParam(), {1003}, 2);
      const std::vector<Tensor> slots = Slots(spec, 1003);
      EXPECT_TRUE(Create(spec)->Run(w, g, slots, {.learning_rate = .1}).ok());
      std::vector<Doubles> all = {Values(w)};
      for (int i = 0; i < spec.moments(); ++i) all.push_back(Values(slots[size_t(i)]));
      return all;
    };
    EXPECT_EQ(run(0), run(.9));
  }
}

TEST_P(UpdateTest, NaNInAnyOperandComesOut) {
  for (const UpdateSpec& spec : Specs()) {
    for (int operand = 0; operand < 2 + spec.moments(); ++operand) {
      Tensor w = RandomTensor(GetParam(), {37}, 1), g = RandomTensor(GetParam(), {37}, 2);
      std::vector<Tensor> slots = Slots(spec, 37);
      const Tensor nans = NaNTensor(GetParam(), {37});
      const Doubles expected = Values(nans);
      (operand == 0 ? w : operand == 1 ? g : slots[size_t(operand - 2)]) = nans;
      ASSERT_TRUE(Create(spec)->Run(w, g, slots, {.learning_rate = .01}).ok());
      EXPECT_TRUE(KeepsNaN(Values(w), expected)) << int(spec.rule) << " operand " << operand;
    }
  }
}

// The bits of a parameter depend on nothing but its own values: not on where ranges end.
TEST_P(UpdateTest, SparingFromDecayIsAnUpdateWithoutDecayInThoseRanges) {
  constexpr int64_t kSize = 70001;
  const std::vector<ArenaRange> ranges = {{0, 3}, {17, 17}, {100, 20000}, {20000, 40001}};
  for (UpdateSpec spec : Specs()) {
    const auto run = [&](double decay, const std::vector<ArenaRange>& without) {
      spec.decay = decay;
      spec.without_decay = without;
      const Tensor w = RandomTensor(GetParam(), {kSize}, 1),
                   g = RandomTensor(GetParam(), {kSize}, 2);
      EXPECT_TRUE(Create(spec)->Run(w, g, Slots(spec, kSize), {.learning_rate = .5}).ok());
      return Values(w);
    };
    const Doubles decayed = run(.1, {}), plain = run(0, {}), mixed = run(.1, ranges);
    EXPECT_NE(decayed, plain);
    for (int64_t i = 0; i < kSize; ++i) {
      const bool spared = i < 3 || (i >= 100 && i < 40001);
      ASSERT_EQ(mixed[size_t(i)], (spared ? plain : decayed)[size_t(i)]) << i;
    }
  }
}

TEST_P(UpdateTest, AGradientScaleIsAScaledGradient) {
  for (const UpdateSpec& spec : Specs()) {
    const auto run = [&](double values_scale, double step_scale) {
      const Tensor w = RandomTensor(GetParam(), {100}, 1);
      Doubles gradients = Values(RandomTensor(GetParam(), {100}, 2));
      for (double& g : gradients) g *= values_scale;
      const UpdateStep step = {.learning_rate = .5, .gradient_scale = step_scale};
      const Tensor g = TensorOf(GetParam(), {100}, gradients);
      EXPECT_TRUE(Create(spec)->Run(w, g, Slots(spec, 100), step).ok());
      return Values(w);
    };
    // Powers of two scale without rounding.
    EXPECT_EQ(run(4, 1), run(1, 4));
    EXPECT_NE(run(1, 1), run(1, 4));
  }
}

TEST_P(UpdateTest, SameBitsOnAnyNumberOfThreads) {
  for (UpdateSpec spec : Specs()) {
    spec.without_decay = {{50000, 50007}};
    Doubles first;
    for (const int threads : {1, 2, 4}) {
      SetNumThreads(threads);
      const Tensor w = RandomTensor(GetParam(), {100003}, 1),
                   g = RandomTensor(GetParam(), {100003}, 2);
      ASSERT_TRUE(Create(spec)->Run(w, g, Slots(spec, 100003), {.learning_rate = .01}).ok());
      if (first.empty()) first = Values(w);
      EXPECT_EQ(Values(w), first) << threads << " threads";
    }
  }
}

TEST_P(UpdateTest, RefusesMissingSlotsAndStepZero) {
  const Tensor w = ZeroTensor(GetParam(), {4});
  const UpdateSpec adam = {.rule = UpdateRule::kAdam};
  EXPECT_EQ(Create(adam)->Run(w, w, {}, {.learning_rate = .1}).message(),
            "update: 0 slots, expected 2");
  EXPECT_EQ(Create(adam)->Run(w, w, Slots(adam, 4), {.learning_rate = .1, .step = 0}).message(),
            "update: step 0, expected steps from 1");
  EXPECT_EQ(Create(adam)->Run(w, w, Slots(adam, 4), {.learning_rate = .1, .step = 1}),
            absl::OkStatus());
  EXPECT_THAT(std::string(Create(adam)->Run(w, w, Slots(adam, 5), {.learning_rate = .1}).message()),
              ::testing::StartsWith("update: a slot"));
  std::vector<Tensor> three = Slots(adam, 4);
  three.push_back(w);
  EXPECT_EQ(Create(adam)->Run(w, w, three, {.learning_rate = .1}).message(),
            "update: 3 slots, expected 2");
}

// Views with a pitch would be read and written as if they had none.
TEST_P(UpdateTest, RefusesPitchedArrays) {
  const UpdateSpec sgd = {.momentum = .9};
  const Tensor dense = ZeroTensor(GetParam(), {6});
  const Tensor pitched = testing::Pitched(ZeroTensor(GetParam(), {2, 3}), TensorFormat::kNHWC);
  const Tensor matrix = ZeroTensor(GetParam(), {2, 3});
  const auto refuses = [&](const Tensor& w, const Tensor& g, const Tensor& slot) {
    return !Create(sgd)->Run(w, g, std::vector{slot}, {.learning_rate = .1}).ok();
  };
  EXPECT_FALSE(refuses(dense, dense, dense));
  EXPECT_TRUE(refuses(matrix, pitched, matrix));
  EXPECT_TRUE(refuses(pitched, matrix, matrix));
  EXPECT_TRUE(refuses(matrix, matrix, pitched));
}

TEST(UpdateSpecTest, RefusesConstantsOutsideTheirRanges) {
  const auto context = *DeviceContext::Create(Device::Cpu());
  const auto message = [&](const UpdateSpec& spec) {
    return std::string(CreateUpdate(*context, spec).status().message());
  };
  EXPECT_EQ(message({.momentum = 1}), "update: momentum is 1, expected 0 <= momentum < 1");
  EXPECT_EQ(message({.rho = -.5}), "update: rho is -0.5, expected 0 <= rho < 1");
  EXPECT_EQ(message({.beta2 = std::nan("")}), "update: beta2 is nan, expected 0 <= beta2 < 1");
  EXPECT_EQ(message({.average_decay = 1}),
            "update: average_decay is 1, expected 0 <= average_decay < 1");
  EXPECT_EQ(message({.decay = -1}), "update: decay is -1, expected a number of at least 0");
  EXPECT_EQ(message({.epsilon = 0}), "") << "sgd has none";
  for (const UpdateRule rule :
       {UpdateRule::kRmsprop, UpdateRule::kAdam, UpdateRule::kNadam, UpdateRule::kAdamw}) {
    EXPECT_THAT(message({.rule = rule, .epsilon = 0}),
                ::testing::HasSubstr("epsilon is 0, expected a number above 0"));
  }
  EXPECT_EQ(
      message({.without_decay = {{0, 8}, {4, 16}}}),
      "update: range 4 to 16 without decay does not begin after the one before, which ends at 8");
}

INSTANTIATE_TEST_SUITE_P(, UpdateTest, ::testing::Values(DType::kFloat32, DType::kFloat64),
                         [](const auto& info) { return std::string(Name(info.param)); });

}  // namespace
}  // namespace dtnn
