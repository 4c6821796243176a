#include "apps/make_training.h"

#include <vector>

#include "gtest/gtest.h"
#include "optim/adam.h"
#include "optim/sgd.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using testing::TensorOf;
using testing::Values;
using testing::ZeroTensor;

// A parameter's values over three steps.
std::vector<double> Path(const Optimizer& optimizer) {
  auto device = *DeviceContext::Create(Device::Cpu());
  auto update = *optimizer.Bind(*device, DType::kFloat64);
  const Tensor w = TensorOf(DType::kFloat64, Shape{1}, {1});
  std::vector<Tensor> slots(size_t(optimizer.slots()), Tensor());
  for (Tensor& slot : slots) slot = ZeroTensor(DType::kFloat64, Shape{1});
  std::vector<double> path;
  for (double gradient : {0.5, -0.25, 0.125}) {
    const Tensor g = TensorOf(DType::kFloat64, Shape{1}, {gradient});
    EXPECT_TRUE(update->Run(w, g, slots, 0.01, int64_t(path.size()) + 1).ok());
    path.push_back(Values(w)[0]);
  }
  return path;
}

TEST(MakeTrainingTest, OptionsReachTheOptimizer) {
  Options options;
  options.optimizer_beta1 = 0.7;
  options.optimizer_beta2 = 0.8;
  options.optimizer_epsilon = 0.1;
  options.optimizer_decay = 0.2;
  options.optimizer_momentum = 0.6;
  options.optimizer_nesterov = true;
  options.optimizer = "adam";
  EXPECT_EQ(Path(**MakeOptimizer(options)),
            Path(Adam({.beta1 = 0.7, .beta2 = 0.8, .epsilon = 0.1, .decay = 0.2})));
  options.optimizer = "sgd";
  EXPECT_EQ(Path(**MakeOptimizer(options)),
            Path(Sgd({.momentum = 0.6, .nesterov = true, .decay = 0.2})));
}

}  // namespace
}  // namespace dtnn
