#include "kernels/transfers/transfers.h"

#include "gtest/gtest.h"
#include "kernels/testing/gpu_testing.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using testing::Close;
using testing::IntegerTensor;

TEST(TransfersTest, TheCpuHasOneMemory) {
  const auto cpu = *DeviceContext::Create(Device::Cpu());
  const Tensor tensor = IntegerTensor(DType::kFloat32, {3, 4}, 1);
  auto twin = *DeviceTwin::Create(*cpu, DType::kInt32, {3});
  const auto host = *HostTwin::Create(*cpu, DType::kInt32, {3});
  for (const Tensor& same :
       {*ToHost(*cpu, tensor), *ToDevice(*cpu, tensor), *twin.Put(tensor), *host.Get(tensor)}) {
    EXPECT_EQ(same.raw_data(), tensor.raw_data());
  }
}

TEST(TransfersTest, ValuesMoveToAGpuAndBack) {
  const auto gpu = *DeviceContext::Create(Device::Simulated(0));
  const Tensor tensor = IntegerTensor(DType::kFloat64, {3, 4}, 1);
  const Tensor device = *ToDevice(*gpu, tensor);
  EXPECT_EQ(device.device(), gpu->device());
  EXPECT_TRUE(Close(*ToHost(*gpu, device), tensor, 0));
  EXPECT_TRUE(ToHost(*gpu, device.Channels(1, 2, TensorFormat::kNHWC))->empty());
}

TEST(TransfersTest, TheHostChangesWhatTheDeviceHolds) {
  for (const Device device : {Device::Cpu(), Device::Simulated(0)}) {
    const auto context = *DeviceContext::Create(device);
    const Tensor tensor = *ToDevice(*context, IntegerTensor(DType::kFloat64, {3, 4}, 1));
    const auto change = [&](const absl::Status& result) {
      return ChangeOnHost(*context, tensor, [&](const Tensor& host) {
        for (int i = 0; i < 12; ++i) host.data<double>()[i] = i;
        return result;
      });
    };
    EXPECT_EQ(change(absl::UnavailableError("no")).code(), absl::StatusCode::kUnavailable);
    if (device != Device::Cpu()) {
      EXPECT_TRUE(Close(*ToHost(*context, tensor), IntegerTensor(DType::kFloat64, {3, 4}, 1), 0));
    }
    EXPECT_EQ(change(absl::OkStatus()), absl::OkStatus());
    EXPECT_EQ(testing::Values(*ToHost(*context, tensor)),
              (std::vector<double>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}));
  }
}

TEST(TransfersTest, OnlyADenseTensorOfADeviceIsChanged) {
  const auto gpu = *DeviceContext::Create(Device::Simulated(0));
  const Tensor device = *ToDevice(*gpu, IntegerTensor(DType::kFloat64, {3, 4}, 1));
  bool called = false;
  const absl::Status refused =
      ChangeOnHost(*gpu, device.Channels(1, 2, TensorFormat::kNHWC), [&](const Tensor& /*host*/) {
        called = true;
        return absl::OkStatus();
      });
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(refused.message(), "a tensor to be changed has a pitch");
  EXPECT_FALSE(called);
}

TEST(TransfersTest, TwinsTakeFewerSamples) {
  const auto gpu = *DeviceContext::Create(Device::Simulated(0));
  auto twin = *DeviceTwin::Create(*gpu, DType::kFloat32, {5, 2, 2, 3});
  const auto host = *HostTwin::Create(*gpu, DType::kFloat32, {5, 2, 2, 3});
  for (const int64_t samples : {5, 2, 5}) {
    const Tensor tensor = IntegerTensor(DType::kFloat32, {samples, 2, 2, 3}, uint64_t(samples));
    const Tensor device = *twin.Put(tensor);
    EXPECT_EQ(device.device(), gpu->device());
    EXPECT_EQ(device.raw_data(), twin.Place(samples).raw_data());
    EXPECT_EQ(device.shape(), twin.Place(samples).shape());
    const Tensor back = *host.Get(device);
    ASSERT_EQ(gpu->Synchronize(), absl::OkStatus());
    EXPECT_TRUE(Close(back, tensor, 0));
    if (samples == 2) twin.GiveBack();
  }
  const Tensor resident = *ToDevice(*gpu, IntegerTensor(DType::kFloat32, {3, 2, 2, 3}, 9));
  const Tensor copied = *twin.Put(resident);
  EXPECT_EQ(copied.raw_data(), twin.Place(3).raw_data());
  EXPECT_TRUE(Close(*ToHost(*gpu, copied), IntegerTensor(DType::kFloat32, {3, 2, 2, 3}, 9), 0));
  EXPECT_FALSE(twin.Put(*ToDevice(*gpu, IntegerTensor(DType::kFloat64, {3, 2, 2, 3}, 9))).ok());
  const Tensor more = IntegerTensor(DType::kFloat64, {5, 2, 2, 3}, 1);
  EXPECT_EQ(twin.Put(more).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace dtnn
