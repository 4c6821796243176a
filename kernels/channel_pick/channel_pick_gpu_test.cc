#include <memory>
#include <tuple>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/channel_pick/channel_pick.h"
#include "kernels/testing/gpu_testing.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using testing::Close;
using testing::Get;
using testing::IntegerTensor;
using testing::Put;

class ChannelPickGpuTest
    : public ::testing::TestWithParam<std::tuple<Device, TensorFormat, DType>> {};

// Images are the middle of wider ones.
TEST_P(ChannelPickGpuTest, SameAsCpu) {
  const auto& [device, format, dtype] = GetParam();
  DTNN_GPU_OR_SKIP_AT(gpu, device);
  const std::unique_ptr<DeviceContext> cpu = *DeviceContext::Create(Device::Cpu());
  for (ChannelPickSpec spec :
       std::vector<ChannelPickSpec>{{.channels = 12, .count = 12, .groups = 3},
                                    {.channels = 9, .begin = 2, .count = 5},
                                    {.channels = 20, .begin = 3, .count = 16, .groups = 2}}) {
    spec.format = format;
    spec.dtype = dtype;
    const auto expected = *CreateChannelPick(*cpu, spec), pick = *CreateChannelPick(*gpu, spec);
    const auto wide = [&](int64_t channels, uint64_t seed) {
      return IntegerTensor(dtype, SampleShape({3, 5, channels + 3}, spec.format).Prepend(2), seed);
    };
    const auto x_of = [&](const Tensor& t) { return t.Channels(2, spec.channels, spec.format); };
    const auto y_of = [&](const Tensor& t) { return t.Channels(1, spec.count, spec.format); };
    const Tensor x = wide(spec.channels, 1), y = wide(spec.count, 2), dy = wide(spec.count, 3),
                 dx = wide(spec.channels, 4);
    const Tensor device_x = Put(*gpu, x), device_y = Put(*gpu, y), device_dy = Put(*gpu, dy),
                 device_dx = Put(*gpu, dx);
    ASSERT_EQ(expected->Forward(x_of(x), y_of(y)), absl::OkStatus());
    ASSERT_EQ(pick->Forward(x_of(device_x), y_of(device_y)), absl::OkStatus());
    EXPECT_TRUE(Close(Get(*gpu, device_y), y, 0)) << spec.groups;
    for (const bool accumulate : {true, false}) {
      ASSERT_EQ(expected->Backward(y_of(dy), x_of(dx), accumulate), absl::OkStatus());
      ASSERT_EQ(pick->Backward(y_of(device_dy), x_of(device_dx), accumulate), absl::OkStatus());
      EXPECT_TRUE(Close(Get(*gpu, device_dx), dx, 0)) << spec.groups;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    , ChannelPickGpuTest,
    ::testing::Combine(::testing::Values(Device::Simulated(0), Device::Cuda(0)),
                       ::testing::Values(TensorFormat::kNHWC, TensorFormat::kNCHW),
                       ::testing::Values(DType::kFloat32, DType::kFloat64)));

}  // namespace
}  // namespace dtnn
