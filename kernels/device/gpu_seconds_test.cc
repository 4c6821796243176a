#include "kernels/device/gpu_seconds.h"

#include <cmath>

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

class GpuSecondsTest : public ::testing::TestWithParam<Device> {};

TEST_P(GpuSecondsTest, EveryCallRunsAndIsDone) {
  DTNN_GPU_OR_SKIP_AT(gpu, GetParam());
  const auto add = *CreateAdd(*gpu, {.dtype = DType::kFloat32});
  const Tensor one = Put(*gpu, TensorOf(DType::kFloat32, {1}, {1}));
  const Tensor sum = Put(*gpu, TensorOf(DType::kFloat32, {1}, {0}));
  const auto seconds = GpuSeconds(static_cast<GpuContext&>(*gpu), 10, [&] {
    return add->Run({&one, 1}, sum, /*accumulate=*/true);
  });
  ASSERT_EQ(seconds.status(), absl::OkStatus());
  EXPECT_TRUE(std::isfinite(*seconds) && *seconds >= 0) << *seconds;
  EXPECT_EQ(Values(Get(*gpu, sum))[0], 10);
}

TEST_P(GpuSecondsTest, TheErrorOfACallEndsIt) {
  DTNN_GPU_OR_SKIP_AT(gpu, GetParam());
  int calls = 0;
  const auto seconds = GpuSeconds(static_cast<GpuContext&>(*gpu), 10, [&] {
    return ++calls < 3 ? absl::OkStatus() : absl::DataLossError("mine");
  });
  EXPECT_EQ(seconds.status(), absl::DataLossError("mine"));
  EXPECT_EQ(calls, 3);
}

INSTANTIATE_TEST_SUITE_P(Gpus, GpuSecondsTest,
                         ::testing::Values(Device::Simulated(0), Device::Cuda(0)),
                         [](const auto& info) {
                           return info.param == Device::Cuda(0) ? "Cuda" : "Simulated";
                         });

}  // namespace
}  // namespace dtnn
