#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/context.h"
#include "kernels/cuda_testing.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using testing::Get;
using ::testing::HasSubstr;
using testing::Put;

TEST(CudaContextTest, AGpuThatIsNotThereIsAnError) {
  const auto context = DeviceContext::Create(Device::Cuda(1 << 20));
  ASSERT_FALSE(context.ok());
  const std::string message(context.status().message());
  if (context.status().code() == absl::StatusCode::kUnimplemented) {
    EXPECT_THAT(message, HasSubstr("build with --config=cuda"));
  } else {
    EXPECT_EQ(context.status().code(), absl::StatusCode::kNotFound);
    EXPECT_THAT(message, HasSubstr("cuda:1048576"));
  }
}

TEST(CudaContextTest, CopiesThereAndBack) {
  DTNN_GPU_OR_SKIP(gpu);
  EXPECT_EQ(gpu->device(), Device::Cuda(0));
  for (const int64_t size : {0, 1, 1000003}) {
    const Tensor host = testing::RandomTensor(DType::kFloat32, {size}, 1);
    EXPECT_TRUE(testing::Close(Get(*gpu, Put(*gpu, host)), host, 0)) << size;
  }
}

TEST(CudaContextTest, CopiesOnTheDeviceInStreamOrder) {
  DTNN_GPU_OR_SKIP(gpu);
  const Tensor host = testing::RandomTensor(DType::kFloat64, {1000}, 1);
  const Tensor a = Put(*gpu, host), b = Put(*gpu, testing::ZeroTensor(DType::kFloat64, {1000}));
  ASSERT_EQ(gpu->Copy(a, b), absl::OkStatus());
  ASSERT_EQ(gpu->FillZero(a), absl::OkStatus());
  EXPECT_TRUE(testing::Close(Get(*gpu, b), host, 0));
  EXPECT_TRUE(testing::Close(Get(*gpu, a), testing::ZeroTensor(DType::kFloat64, {1000}), 0));
}

TEST(CudaContextTest, RefusesWhatItCannotCopy) {
  DTNN_GPU_OR_SKIP(gpu);
  const Tensor host = testing::ZeroTensor(DType::kFloat32, {4, 6});
  const Tensor device = Put(*gpu, host);
  for (const absl::Status& status :
       {gpu->Copy(host, device.Samples(0, 3, TensorFormat::kNHWC)),
        gpu->Copy(host.Channels(0, 2, TensorFormat::kNHWC), device), gpu->FillZero(host),
        gpu->FillZero(device.Channels(0, 2, TensorFormat::kNHWC))}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  }
}

}  // namespace
}  // namespace dtnn
