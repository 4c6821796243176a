#include "tensor/gpu/open_gpus.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn::gpu {
namespace {

TEST(OpenGpusTest, OneForEachDevice) {
  Gpu* const gpu = *OpenGpu(Device::Simulated(0));
  EXPECT_EQ(gpu, *OpenGpu(Device::Simulated(0)));
  EXPECT_EQ(gpu->name(), Device::Simulated(0).ToString());
}

TEST(OpenGpusTest, AllThatAreCountedOpen) {
  const int count = *CountGpus(DeviceType::kSimulated);
  ASSERT_GE(count, 1);
  EXPECT_TRUE(OpenGpu(Device::Simulated(count - 1)).ok());
  EXPECT_FALSE(OpenGpu(Device::Simulated(count)).ok());
  EXPECT_EQ(CountGpus(DeviceType::kCpu).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(OpenGpusTest, WhatIsNotThereIsNamed) {
  EXPECT_EQ(OpenGpu(Device::Cpu()).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(OpenGpu(Device::Cpu()).status().message()),
              ::testing::HasSubstr("the cpu is not a GPU"));
  for (const Device device : {Device::Simulated(99), Device::Cuda(99)}) {
    for (int i = 0; i < 2; ++i) {  // the second time too
      const absl::Status status = OpenGpu(device).status();
      EXPECT_FALSE(status.ok());
      EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr(device.ToString()));
    }
  }
}

}  // namespace
}  // namespace dtnn::gpu
