#include "kernels/device/captured_work.h"

#include <vector>

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

class CapturedWorkTest : public ::testing::TestWithParam<Device> {};

TEST_P(CapturedWorkTest, ReplaysOnWhatMemoryHoldsThen) {
  DTNN_GPU_OR_SKIP_AT(context, GetParam());
  const auto add = *CreateAdd(*context, {.dtype = DType::kFloat32});
  const Tensor x = Put(*context, TensorOf(DType::kFloat32, {2}, {1, 2}));
  const Tensor sum = Put(*context, TensorOf(DType::kFloat32, {2}, {0, 0}));
  const auto captured = CapturedWork::Capture(*context, [&] {
    return add->Run({&x, 1}, sum, /*accumulate=*/true);
  });
  ASSERT_EQ(captured.status(), absl::OkStatus());
  EXPECT_EQ(Values(Get(*context, sum)), (std::vector<double>{0, 0})) << "it does not run yet";
  ASSERT_EQ((*captured)->Replay(), absl::OkStatus());
  ASSERT_EQ(context->Copy(TensorOf(DType::kFloat32, {2}, {10, 20}), x), absl::OkStatus());
  ASSERT_EQ((*captured)->Replay(), absl::OkStatus());
  EXPECT_EQ(Values(Get(*context, sum)), (std::vector<double>{11, 22}));
}

TEST_P(CapturedWorkTest, WaitingIsRefusedAndTheContextGoesOn) {
  DTNN_GPU_OR_SKIP_AT(context, GetParam());
  const auto captured =
      CapturedWork::Capture(*context, [&] { return context->Synchronize(); }).status();
  EXPECT_EQ(captured.code(), absl::StatusCode::kFailedPrecondition) << captured;
  const auto failed = CapturedWork::Capture(*context, [] { return absl::DataLossError("mine"); });
  EXPECT_EQ(failed.status(), absl::DataLossError("mine"));
  EXPECT_EQ(context->Synchronize(), absl::OkStatus());
}

TEST(CapturedWorkOnACpuTest, IsRefused) {
  const auto cpu = *DeviceContext::Create(Device::Cpu());
  EXPECT_EQ(CapturedWork::Capture(*cpu, [] { return absl::OkStatus(); }).status().code(),
            absl::StatusCode::kUnimplemented);
}

INSTANTIATE_TEST_SUITE_P(, CapturedWorkTest,
                         ::testing::Values(Device::Simulated(0), Device::Cuda(0)));

}  // namespace
}  // namespace dtnn
