#include "models/training/step/step_graphs.h"

#include <memory>
#include <string>

#include "gtest/gtest.h"
#include "kernels/add/add.h"
#include "kernels/testing/gpu_testing.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using testing::Get;
using testing::Put;
using testing::TensorOf;
using testing::Values;

class StepGraphsTest : public ::testing::Test {
 protected:
  // A step adds 1; counts how often it runs call by call or is captured.
  absl::Status Run(StepGraphs& graphs, int64_t samples) {
    return graphs.Run({.samples = samples}, [&] {
      ++calls_;
      return add_->Run({&one_, 1}, sum_, /*accumulate=*/true);
    });
  }
  double Sum() { return Values(Get(*gpu_, sum_))[0]; }

  std::unique_ptr<DeviceContext> gpu_ = *DeviceContext::Create(Device::Simulated(0));
  std::unique_ptr<Add> add_ = *CreateAdd(*gpu_, {.dtype = DType::kFloat32});
  const Tensor one_ = Put(*gpu_, TensorOf(DType::kFloat32, {1}, {1}));
  const Tensor sum_ = Put(*gpu_, TensorOf(DType::kFloat32, {1}, {0}));
  int calls_ = 0;
};

TEST_F(StepGraphsTest, TheFirstStepOfAKindRunsTheSecondIsCapturedTheRestReplayed) {
  StepGraphs graphs(*gpu_, "");
  for (int step = 0; step < 5; ++step) {
    for (const int64_t samples : {8, 3}) ASSERT_EQ(Run(graphs, samples), absl::OkStatus());
  }
  EXPECT_EQ(Sum(), 10);
  EXPECT_EQ(calls_, 4) << "two of each kind";
  EXPECT_EQ(graphs.captured(), 2);
  EXPECT_EQ(graphs.reason(), "");
  graphs.Clear();
  ASSERT_EQ(Run(graphs, 8), absl::OkStatus());
  EXPECT_EQ(calls_, 5);
}

TEST_F(StepGraphsTest, WithAReasonNothingIsCaptured) {
  StepGraphs graphs(*gpu_, "a test says so");
  for (int step = 0; step < 3; ++step) ASSERT_EQ(Run(graphs, 8), absl::OkStatus());
  EXPECT_EQ(calls_, 3);
  EXPECT_EQ(graphs.captured(), 0);
  EXPECT_EQ(graphs.reason(), "a test says so");
  EXPECT_EQ(Sum(), 3);
}

// Work that waits cannot be captured: it runs call by call, each call once.
TEST_F(StepGraphsTest, WhatCannotBeCapturedGoesOnCallByCall) {
  StepGraphs graphs(*gpu_, "");
  for (int step = 0; step < 4; ++step) {
    ASSERT_EQ(
        graphs.Run({},
                   [&] {
                     const absl::Status status = add_->Run({&one_, 1}, sum_, /*accumulate=*/true);
                     return status.ok() ? gpu_->Synchronize() : status;
                   }),
        absl::OkStatus());
  }
  EXPECT_EQ(Sum(), 4);
  EXPECT_NE(graphs.reason().find("cudaErrorStreamCapture"), std::string::npos) << graphs.reason();
}

// Whatever kind of error stops a capture: a device without memory for a graph, for example.
TEST_F(StepGraphsTest, AnErrorOfTheCaptureAloneEndsNoRun) {
  StepGraphs graphs(*gpu_, "");
  for (int step = 0; step < 4; ++step) {
    ASSERT_EQ(graphs.Run({},
                         [&] {
                           if (++calls_ == 2) return absl::ResourceExhaustedError("no graph");
                           return add_->Run({&one_, 1}, sum_, /*accumulate=*/true);
                         }),
              absl::OkStatus());
  }
  EXPECT_EQ(Sum(), 4);
  EXPECT_EQ(calls_, 5) << "the step whose capture failed runs again";
  EXPECT_EQ(graphs.reason(), "no graph");
}

TEST_F(StepGraphsTest, AnErrorOfTheWorkItselfIsReturned) {
  StepGraphs graphs(*gpu_, "");
  ASSERT_EQ(Run(graphs, 8), absl::OkStatus());
  EXPECT_EQ(graphs.Run({.samples = 8}, [] { return absl::InternalError("lost"); }),
            absl::InternalError("lost"));
}

TEST_F(StepGraphsTest, KindsThatNeverRepeatAreNotKept) {
  StepGraphs graphs(*gpu_, "");
  for (int64_t samples = 1; samples <= 40; ++samples) {
    ASSERT_EQ(Run(graphs, samples), absl::OkStatus());
  }
  EXPECT_EQ(graphs.reason(), "there are more than 16 kinds of steps");
  EXPECT_EQ(Sum(), 40);
}

TEST_F(StepGraphsTest, AnErrorOfTheWorkIsTheStepsOwn) {
  StepGraphs graphs(*gpu_, "");
  for (int step = 0; step < 2; ++step) {
    EXPECT_EQ(graphs.Run({}, [] { return absl::DataLossError("mine"); }),
              absl::DataLossError("mine"));
  }
  EXPECT_EQ(Run(graphs, 8), absl::OkStatus());
}

}  // namespace
}  // namespace dtnn
