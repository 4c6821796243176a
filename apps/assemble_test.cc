#include "apps/assemble.h"

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
  auto update = *optimizer.Bind(*device, DType::kFloat64, {});
  const Tensor w = TensorOf(DType::kFloat64, Shape{1}, {1});
  std::vector<Tensor> slots(size_t(optimizer.slots()), Tensor());
  for (Tensor& slot : slots) slot = ZeroTensor(DType::kFloat64, Shape{1});
  std::vector<double> path;
  for (double gradient : {0.5, -0.25, 0.125}) {
    const Tensor g = TensorOf(DType::kFloat64, Shape{1}, {gradient});
    const UpdateStep step = {.learning_rate = 0.01, .step = int64_t(path.size()) + 1};
    EXPECT_TRUE(update->Run(w, g, slots, step).ok());
    path.push_back(Values(w)[0]);
  }
  return path;
}

TEST(AssembleTest, OptionsReachTheOptimizer) {
  Options options;
  options.optimizer_beta1 = 0.7;
  options.optimizer_beta2 = 0.8;
  options.optimizer_epsilon = 0.1;
  options.optimizer_decay = 0.2;
  options.optimizer_momentum = 0.6;
  options.optimizer_nesterov = true;
  options.optimizer = "adam";
  EXPECT_EQ(Path(*MakeOptimizer(options)),
            Path(Adam({.beta1 = 0.7, .beta2 = 0.8, .epsilon = 0.1, .decay = 0.2})));
  options.optimizer = "sgd";
  EXPECT_EQ(Path(*MakeOptimizer(options)),
            Path(Sgd({.momentum = 0.6, .nesterov = true, .decay = 0.2})));
}

class LoadersTest : public ::testing::Test {
 protected:
  LoadersTest() {
    options_.dataset = "synthetic";
    options_.synthetic_train_samples = 50;
    options_.synthetic_test_samples = 20;
    options_.validation_split = 0.2;
    options_.evaluate = true;
  }
  Loaders Make() const { return *MakeLoaders(options_, *MakeDataset(options_)); }

  Options options_;
};

TEST_F(LoadersTest, ValidationComesFromTheTrainingPart) {
  const Loaders loaders = Make();
  EXPECT_EQ(loaders.training->samples(), 40);
  EXPECT_EQ(loaders.validation->samples(), 10);
  EXPECT_EQ(loaders.test->samples(), 20);
}

TEST_F(LoadersTest, TheTestPartAsValidationLeavesAllToTrainOn) {
  options_.test_as_validation = true;
  const Loaders loaders = Make();
  EXPECT_EQ(loaders.training->samples(), 50);
  EXPECT_EQ(loaders.validation->samples(), 20);
}

TEST_F(LoadersTest, OnlyWhatTheRunNeeds) {
  options_.evaluate = false;
  options_.validation_split = 0;
  const Loaders training = Make();
  EXPECT_EQ(training.training->samples(), 50);
  EXPECT_EQ(training.validation, nullptr);
  EXPECT_EQ(training.test, nullptr);
  options_.evaluate_only = true;
  const Loaders testing = Make();
  EXPECT_EQ(testing.training, nullptr);
  EXPECT_EQ(testing.validation, nullptr);
  EXPECT_EQ(testing.test->samples(), 20);
}

}  // namespace
}  // namespace dtnn
