#include "kernels/device/gpu_context.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/testing/gpu_testing.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using testing::Get;
using ::testing::HasSubstr;
using testing::Put;

TEST(DeviceContextTest, AGpuThatIsNotThereIsAnError) {
  for (const Device device : {Device::Cuda(1 << 20), Device::Simulated(1 << 20)}) {
    const auto context = DeviceContext::Create(device);
    ASSERT_FALSE(context.ok());
    const std::string message(context.status().message());
    EXPECT_THAT(message, HasSubstr(device.ToString()));
    if (context.status().code() == absl::StatusCode::kUnimplemented) {
      EXPECT_THAT(message, HasSubstr("build the sources with --config=cuda"));
    } else {
      EXPECT_EQ(context.status().code(), absl::StatusCode::kNotFound);
    }
  }
}

class GpuContextTest : public ::testing::TestWithParam<Device> {
 protected:
  void SetUp() override {
    DTNN_GPU_OR_SKIP_AT(gpu, GetParam());
    gpu_ = std::move(gpu);
  }

  std::unique_ptr<DeviceContext> gpu_;
};

TEST_P(GpuContextTest, CopiesThereAndBack) {
  EXPECT_EQ(gpu_->device(), GetParam());
  for (const int64_t size : {0, 1, 3000017}) {
    const Tensor host = testing::RandomTensor(DType::kFloat32, {size}, 1);
    EXPECT_TRUE(testing::Close(Get(*gpu_, Put(*gpu_, host)), host, 0)) << size;
  }
}

TEST_P(GpuContextTest, CopiesOnTheDeviceInStreamOrder) {
  const Tensor host = testing::RandomTensor(DType::kFloat64, {1000}, 1);
  const Tensor a = Put(*gpu_, host), b = Put(*gpu_, testing::ZeroTensor(DType::kFloat64, {1000}));
  ASSERT_EQ(gpu_->Copy(a, b), absl::OkStatus());
  ASSERT_EQ(gpu_->FillZero(a), absl::OkStatus());
  EXPECT_TRUE(testing::Close(Get(*gpu_, b), host, 0));
  EXPECT_TRUE(testing::Close(Get(*gpu_, a), testing::ZeroTensor(DType::kFloat64, {1000}), 0));
}

TEST_P(GpuContextTest, CopiesBetweenHostTensorsToo) {
  const Tensor a = testing::RandomTensor(DType::kFloat32, {10}, 1);
  const Tensor b = testing::ZeroTensor(DType::kFloat32, {10});
  ASSERT_EQ(gpu_->Copy(a, b), absl::OkStatus());
  EXPECT_TRUE(testing::Close(b, a, 0));
}

TEST_P(GpuContextTest, RefusesWhatItCannotCopy) {
  const Tensor host = testing::ZeroTensor(DType::kFloat32, {4, 6});
  const Tensor device = Put(*gpu_, host);
  for (const absl::Status& status :
       {gpu_->Copy(host, device.Samples(0, 3, TensorFormat::kNHWC)),
        gpu_->Copy(host.Channels(0, 2, TensorFormat::kNHWC), device), gpu_->FillZero(host),
        gpu_->FillZero(device.Channels(0, 2, TensorFormat::kNHWC)), gpu_->Copy(Tensor(), host)}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  }
  for (const int64_t columns : {5, 7}) {
    EXPECT_EQ(
        gpu_->Copy(host, Put(*gpu_, testing::ZeroTensor(DType::kFloat32, {4, columns}))).message(),
        columns == 5 ? "copying: 96 bytes to a tensor of 80; expected as many"
                     : "copying: 96 bytes to a tensor of 112; expected as many");
  }
}

INSTANTIATE_TEST_SUITE_P(, GpuContextTest, ::testing::Values(Device::Simulated(0), Device::Cuda(0)),
                         [](const auto& info) {
                           return info.param.type == DeviceType::kCuda ? "Cuda" : "Simulated";
                         });

}  // namespace
}  // namespace dtnn
