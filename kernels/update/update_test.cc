#include "kernels/update/update.h"

#include <limits>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/elementwise/simd_targets.h"
#include "kernels/update/reference.h"
#include "tensor/parallel_for.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using testing::Close;
using testing::ForEachSimdTarget;
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
      EXPECT_TRUE(update->Run(w, g, slots, .01, step).ok());
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
  ForEachSimdTarget([&] {
    EXPECT_TRUE(Close(TwoSteps({.momentum = .9}), {.995, .993}, tolerance()));
    EXPECT_TRUE(Close(TwoSteps({.momentum = .9, .nesterov = true}), {.9905, .9912}, tolerance()));
    EXPECT_TRUE(Close(TwoSteps({.momentum = .9, .decay = .1}), {.994, .991006}, tolerance()));
    EXPECT_TRUE(Close(TwoSteps({.momentum = 0}), {.995, .9975}, tolerance()));
  });
}

TEST_P(UpdateTest, GoldenAdam) {
  ForEachSimdTarget([&] {
    const Doubles steps =
        TwoSteps({.rule = UpdateRule::kAdam, .beta1 = .99, .beta2 = .999, .epsilon = 1e-7});
    // The published values have eleven digits.
    EXPECT_TRUE(Close(steps, {.99000000200, .98688493033}, tolerance() + 5e-12));
  });
}

TEST_P(UpdateTest, EqualsReferenceForEveryLengthAndRule) {
  const UpdateSpec specs[] = {
      {.momentum = 0, .decay = .01},
      {.momentum = .9},
      {.momentum = .9, .nesterov = true, .decay = .1},
      {.rule = UpdateRule::kAdam, .decay = .01},
  };
  ForEachSimdTarget([&] {
    for (const UpdateSpec& spec : specs) {
      for (const int64_t n : {1, 3, 4, 7, 8, 9, 15, 16, 17, 31, 33, 70001}) {
        const Tensor w = RandomTensor(GetParam(), {n}, 1);
        Doubles expected = Values(w), first(static_cast<size_t>(n)), second(first);
        const std::vector<Tensor> slots = Slots(spec, n);
        const auto update = Create(spec);
        for (int64_t step = 1; step <= 3; ++step) {
          const Tensor g = RandomTensor(GetParam(), {n}, uint64_t(step + 1));
          const Doubles gradients = Values(g);
          ASSERT_TRUE(update->Run(w, g, slots, .01, step).ok());
          for (size_t i = 0; i < expected.size(); ++i) {
            if (spec.rule == UpdateRule::kAdam) {
              reference::UpdateAdam(spec, expected[i], gradients[i], first[i], second[i], .01,
                                    step);
            } else {
              reference::UpdateSgd(spec, expected[i], gradients[i], first[i], .01);
            }
          }
        }
        // Adam's step has the size of the learning rate whatever the gradient, so a sum of moments
        // that nearly cancels costs relative, not absolute accuracy.
        EXPECT_TRUE(Close(Values(w), expected, 4 * tolerance())) << n;
      }
    }
  });
}

TEST_P(UpdateTest, SameBitsOnAnyNumberOfThreads) {
  const UpdateSpec spec = {.rule = UpdateRule::kAdam};
  Doubles first;
  for (const int threads : {1, 2, 4}) {
    SetNumThreads(threads);
    const Tensor w = RandomTensor(GetParam(), {100003}, 1),
                 g = RandomTensor(GetParam(), {100003}, 2);
    ASSERT_TRUE(Create(spec)->Run(w, g, Slots(spec, 100003), .01, 1).ok());
    if (first.empty()) first = Values(w);
    EXPECT_EQ(Values(w), first) << threads << " threads";
  }
}

TEST_P(UpdateTest, RefusesMissingSlotsAndStepZero) {
  const Tensor w = ZeroTensor(GetParam(), {4});
  const UpdateSpec adam = {.rule = UpdateRule::kAdam};
  EXPECT_EQ(Create(adam)->Run(w, w, {}, .1, 1).message(),
            "update: 0 slots at step 1, expected 2 slots, dense arrays and steps from 1");
  EXPECT_FALSE(Create(adam)->Run(w, w, Slots(adam, 4), .1, 0).ok());
  EXPECT_FALSE(Create(adam)->Run(w, w, Slots(adam, 5), .1, 1).ok());
}

INSTANTIATE_TEST_SUITE_P(, UpdateTest, ::testing::Values(DType::kFloat32, DType::kFloat64),
                         [](const auto& info) { return std::string(Name(info.param)); });

}  // namespace
}  // namespace dtnn
