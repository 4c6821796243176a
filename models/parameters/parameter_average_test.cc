#include "models/parameters/parameter_average.h"

#include <memory>

#include "gtest/gtest.h"
#include "models/graph/builder.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using ::dtnn::testing::RandomTensor;
using ::dtnn::testing::Values;

// More parameters than are exchanged at once, and not a multiple of these.
Graph Network() {
  GraphBuilder b("net", TensorFormat::kNHWC);
  b.Input({1, 1, 600}).Flatten().Fc(600);
  return *b.Build();
}

class ParameterAverageTest : public ::testing::Test {
 protected:
  ParameterAverageTest() {
    EXPECT_TRUE(store_->AllocateForTraining(*device_, /*slots=*/2, /*average_slot=*/1).ok());
  }
  // Other contents of both, as of `seed`.
  void Write(uint64_t seed) {
    const Shape shape = store_->values().shape();
    EXPECT_TRUE(device_->Copy(RandomTensor(DType::kFloat32, shape, seed), store_->values()).ok());
    EXPECT_TRUE(device_->Copy(RandomTensor(DType::kFloat32, shape, seed + 1), slot()).ok());
    store_->MarkChanged();
  }
  void ExpectSeeds(uint64_t values, uint64_t average) {
    const Shape shape = store_->values().shape();
    EXPECT_EQ(Values(store_->values()), Values(RandomTensor(DType::kFloat32, shape, values)));
    EXPECT_EQ(Values(slot()), Values(RandomTensor(DType::kFloat32, shape, average)));
  }
  Tensor slot() { return store_->slots()[1]; }

  std::unique_ptr<DeviceContext> device_ = *DeviceContext::Create(Device::Cpu());
  const Graph graph_ = Network();
  std::unique_ptr<ParameterStore> store_ =
      *ParameterStore::Create(graph_, *device_, DType::kFloat32, 1);
  ParameterAverage average_{*store_, *device_};
};

TEST_F(ParameterAverageTest, IsShownAndGoesBack) {
  Write(10);
  ASSERT_TRUE(average_.Show(1).ok());
  ExpectSeeds(11, 10);
  ASSERT_TRUE(average_.Show(1).ok());
  ExpectSeeds(11, 10);
  ASSERT_TRUE(average_.BeginStep(1).ok());
  ExpectSeeds(10, 11);
}

TEST_F(ParameterAverageTest, BeginsAsTheParameters) {
  Write(10);
  ASSERT_TRUE(average_.Show(0).ok());
  ExpectSeeds(10, 11);
  ASSERT_TRUE(average_.BeginStep(0).ok());
  ExpectSeeds(10, 10);
}

TEST_F(ParameterAverageTest, ParametersThatAreWrittenWhileItIsShownReplaceBoth) {
  Write(10);
  ASSERT_TRUE(average_.Show(1).ok());
  Write(20);
  ASSERT_TRUE(average_.BeginStep(1).ok());
  ExpectSeeds(20, 20);
}

// As where a rank takes another one's state.
TEST_F(ParameterAverageTest, WhatIsRestoredWasShownThen) {
  Write(10);
  ASSERT_TRUE(average_.Show(1).ok());
  Write(20);
  average_.Restored(1);
  ASSERT_TRUE(average_.BeginStep(1).ok());
  ExpectSeeds(21, 20);
}

TEST_F(ParameterAverageTest, ParametersThatAreWrittenAfterARestoreReplaceBoth) {
  Write(10);
  average_.Restored(1);
  Write(20);
  ASSERT_TRUE(average_.BeginStep(1).ok());
  ExpectSeeds(20, 20);
}

TEST_F(ParameterAverageTest, WhatIsRestoredBeforeAnyStepIsNot) {
  Write(10);
  ASSERT_TRUE(average_.Show(1).ok());
  Write(20);
  average_.Restored(0);
  ASSERT_TRUE(average_.BeginStep(1).ok());
  ExpectSeeds(20, 21);
}

}  // namespace
}  // namespace dtnn
