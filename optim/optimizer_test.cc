// Golden values: two steps from w = 1 with gradients 0.5 and -0.25 at learning rate 0.01.

#include "optim/optimizer.h"

#include <vector>

#include "gtest/gtest.h"
#include "optim/adam.h"
#include "optim/sgd.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using ::dtnn::testing::TensorOf;
using ::dtnn::testing::Values;
using ::dtnn::testing::ZeroTensor;

std::vector<double> TwoSteps(const Optimizer& optimizer) {
  auto device = *DeviceContext::Create(Device::Cpu());
  auto update = *optimizer.Bind(*device, DType::kFloat64);
  const Tensor w = TensorOf(DType::kFloat64, Shape{1}, {1});
  std::vector<Tensor> slots(size_t(optimizer.slots()), Tensor());
  for (Tensor& slot : slots) slot = ZeroTensor(DType::kFloat64, Shape{1});
  std::vector<double> path;
  int64_t step = 1;
  for (double gradient : {0.5, -0.25}) {
    const Tensor g = TensorOf(DType::kFloat64, Shape{1}, {gradient});
    EXPECT_TRUE(update->Run(w, g, slots, 0.01, step++).ok());
    path.push_back(Values(w)[0]);
  }
  return path;
}

void ExpectPath(const Optimizer& optimizer, double first, double second) {
  const std::vector<double> path = TwoSteps(optimizer);
  EXPECT_NEAR(path[0], first, 1e-11) << optimizer.name();
  EXPECT_NEAR(path[1], second, 1e-11) << optimizer.name();
}

TEST(OptimizerTest, GoldenPaths) {
  ExpectPath(Sgd(), 0.995, 0.993);
  ExpectPath(Sgd({.nesterov = true}), 0.9905, 0.9912);
  ExpectPath(Sgd({.momentum = 0, .decay = 0.1}), 0.994, 0.995506);
  ExpectPath(Adam(), 0.99000000200, 0.98688493033);
}

// The third golden row of the formulas: plain momentum 0.9 with decay 0.1.
TEST(OptimizerTest, DecayIsDecoupledFromMomentum) {
  ExpectPath(Sgd({.decay = 0.1}), 0.994, 0.991006);
}

TEST(OptimizerTest, SlotsPerRule) {
  EXPECT_EQ(Sgd().slots(), 1);
  EXPECT_EQ(Sgd({.momentum = 0}).slots(), 0);
  EXPECT_EQ(Adam().slots(), 2);
}

}  // namespace
}  // namespace dtnn
