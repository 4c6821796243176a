// Golden values: two steps from w = 1 with gradients 0.5 and -0.25 at learning rate 0.01.

#include "optim/optimizers/optimizer.h"

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "optim/optimizers/adam.h"
#include "optim/optimizers/adamw.h"
#include "optim/optimizers/nadam.h"
#include "optim/optimizers/oktopk.h"
#include "optim/optimizers/rmsprop.h"
#include "optim/optimizers/sgd.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using ::dtnn::testing::TensorOf;
using ::dtnn::testing::Values;
using ::dtnn::testing::ZeroTensor;

std::vector<double> TwoSteps(const Optimizer& optimizer) {
  auto device = *DeviceContext::Create(Device::Cpu());
  auto update = *optimizer.Bind(*device, DType::kFloat64, {});
  const Tensor w = TensorOf(DType::kFloat64, Shape{1}, {1});
  std::vector<Tensor> slots(size_t(optimizer.slots()), Tensor());
  for (Tensor& slot : slots) slot = ZeroTensor(DType::kFloat64, Shape{1});
  std::vector<double> path;
  int64_t step = 1;
  for (double gradient : {0.5, -0.25}) {
    const Tensor g = TensorOf(DType::kFloat64, Shape{1}, {gradient});
    EXPECT_TRUE(update->Run(w, g, slots, {.learning_rate = 0.01, .step = step++}).ok());
    path.push_back(Values(w)[0]);
  }
  return path;
}

TEST(OptimizerTest, ConstantsAreThoseOfTheFormula) {
  using Constants = std::map<std::string, double, std::less<>>;
  EXPECT_EQ(Sgd({.momentum = 0.5, .nesterov = true}).constants(),
            (Constants{{"decay", 0}, {"momentum", 0.5}, {"nesterov", 1}}));
  EXPECT_EQ(
      Sgd({.decay = 0.1, .decay_vectors = false}).constants(),
      (Constants{{"decay", 0.1}, {"decay of vectors", 0}, {"momentum", 0.9}, {"nesterov", 0}}));
  EXPECT_EQ(Sgd({.average_decay = 0.25}).constants(),
            (Constants{{"average decay", 0.25}, {"decay", 0}, {"momentum", 0.9}, {"nesterov", 0}}));
  EXPECT_EQ(Rmsprop({.rho = 0.8, .epsilon = 1e-5}).constants(),
            (Constants{{"decay", 0}, {"epsilon", 1e-5}, {"rho", 0.8}}));
  const Constants adam = {{"beta1", 0.8}, {"beta2", 0.7}, {"decay", 0}, {"epsilon", 1e-5}};
  EXPECT_EQ(Adam({.beta1 = 0.8, .beta2 = 0.7, .epsilon = 1e-5}).constants(), adam);
  EXPECT_EQ(Nadam({.beta1 = 0.8, .beta2 = 0.7, .epsilon = 1e-5}).constants(), adam);
  EXPECT_EQ(Adamw({.beta1 = 0.8, .beta2 = 0.7, .epsilon = 1e-5, .decay = 0}).constants(), adam);
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
  ExpectPath(Rmsprop(), 0.96837728664, 0.98312145662);
  ExpectPath(Adam(), 0.99000000200, 0.98688493033);
  ExpectPath(Nadam(), 0.98000000400, 0.98006357689);
  ExpectPath(Adamw({.beta1 = 0.99, .epsilon = 1e-7, .decay = 0}), 0.99000000200, 0.98688493013);
}

// The third golden row of the formulas: plain momentum 0.9 with decay 0.1.
TEST(OptimizerTest, DecayIsDecoupledFromMomentum) {
  ExpectPath(Sgd({.decay = 0.1}), 0.994, 0.991006);
}

TEST(OptimizerTest, SlotsPerRule) {
  EXPECT_EQ(Sgd().slots(), 1);
  EXPECT_EQ(Sgd({.momentum = 0}).slots(), 0);
  EXPECT_EQ(Rmsprop().slots(), 1);
  EXPECT_EQ(Adam().slots(), 2);
  EXPECT_EQ(Nadam().slots(), 2);
  EXPECT_EQ(Adamw().slots(), 2);
  EXPECT_EQ(Oktopk().slots(), 2);
  EXPECT_EQ(Oktopk({.momentum = 0}).slots(), 1);
}

TEST(OptimizerTest, OktopkIsForCpus) {
  auto device = *DeviceContext::Create(Device::Simulated(0));
  EXPECT_EQ(Oktopk().Bind(*device, DType::kFloat32, {}).status(),
            absl::UnimplementedError("the sparse sum of oktopk is computed on CPUs only"));
}

// Its update is sgd's: what is left over belongs to the sum.
TEST(OptimizerTest, OktopkFollowsAsSgdDoes) {
  const auto path = [](const Optimizer& optimizer) {
    auto device = *DeviceContext::Create(Device::Cpu());
    auto update = *optimizer.Bind(*device, DType::kFloat32, {});
    const Tensor w = TensorOf(DType::kFloat32, Shape{1}, {1});
    std::vector<Tensor> slots(size_t(optimizer.slots()), Tensor());
    for (Tensor& slot : slots) slot = TensorOf(DType::kFloat32, Shape{1}, {0});
    for (int64_t step = 1; step <= 3; ++step) {
      const Tensor g = TensorOf(DType::kFloat32, Shape{1}, {0.5 / double(step)});
      EXPECT_TRUE(update->Run(w, g, slots, {.learning_rate = 0.1, .step = step}).ok());
    }
    if (optimizer.sparse_sum()) {  // the last slot is the sum's
      EXPECT_EQ(Values(slots.back()), std::vector<double>{0});
      EXPECT_NE(Values(slots.front()), std::vector<double>{0});
    }
    return Values(w);
  };
  EXPECT_EQ(path(Oktopk({.momentum = 0.5, .nesterov = true, .decay = 0.1})),
            path(Sgd({.momentum = 0.5, .nesterov = true, .decay = 0.1})));
  EXPECT_FALSE(Sgd().sparse_sum().has_value());
  EXPECT_EQ(Oktopk({.density = 0.25}).sparse_sum()->density, 0.25);
  EXPECT_EQ(Oktopk({.tau = 5, .tau_prime = 3}).constants(),
            (std::map<std::string, double, std::less<>>{{"decay", 0},
                                                        {"density", 0.01},
                                                        {"momentum", 0.9},
                                                        {"nesterov", 0},
                                                        {"tau", 5},
                                                        {"tau'", 3}}));
}

TEST(OptimizerTest, VectorsAreSparedFromDecayWhereAsked) {
  auto device = *DeviceContext::Create(Device::Cpu());
  const ArenaRange vectors[] = {{1, 2}};
  for (const bool decay_vectors : {true, false}) {
    const Sgd sgd({.momentum = 0, .decay = 0.5, .decay_vectors = decay_vectors});
    const auto update = *sgd.Bind(*device, DType::kFloat64, vectors);
    const Tensor w = TensorOf(DType::kFloat64, Shape{3}, {1, 1, 1});
    const Tensor g = ZeroTensor(DType::kFloat64, Shape{3});
    ASSERT_TRUE(update->Run(w, g, {}, {.learning_rate = 0.5}).ok());
    EXPECT_EQ(Values(w), (std::vector<double>{0.75, decay_vectors ? 0.75 : 1, 0.75}));
  }
}

}  // namespace
}  // namespace dtnn
