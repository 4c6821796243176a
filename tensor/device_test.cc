#include "tensor/device.h"

#include "gtest/gtest.h"

namespace dtnn {
namespace {

TEST(DeviceTest, PrintsItsName) {
  EXPECT_EQ(Device::Cpu().ToString(), "cpu");
  EXPECT_EQ(Device::Cuda(3).ToString(), "cuda:3");
  EXPECT_EQ(Device::Simulated(1).ToString(), "simulated:1");
}

TEST(DeviceTest, DefaultIsTheCpu) {
  EXPECT_EQ(Device(), Device::Cpu());
  EXPECT_TRUE(Device().is_cpu());
  EXPECT_FALSE(Device::Cuda(0).is_cpu());
  EXPECT_NE(Device::Cuda(0), Device::Cuda(1));
  EXPECT_NE(Device::Cuda(0), Device::Simulated(0));
}

}  // namespace
}  // namespace dtnn
