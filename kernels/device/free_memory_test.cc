#include "kernels/device/free_memory.h"

#include "gtest/gtest.h"
#include "kernels/testing/gpu_testing.h"

namespace dtnn {
namespace {

TEST(FreeMemoryTest, TheCpusIsTheHosts) {
  EXPECT_EQ(FreeMemory(**DeviceContext::Create(Device::Cpu())), std::nullopt);
}

TEST(FreeMemoryTest, ShrinksByWhatIsAllocated) {
  const auto gpu = *DeviceContext::Create(Device::Simulated(0));
  const size_t before = FreeMemory(*gpu).value();
  const Tensor tensor = *Tensor::Allocate(gpu->device(), DType::kUint8, Shape{1000});
  EXPECT_LE(FreeMemory(*gpu).value(), before - 1000);
}

}  // namespace
}  // namespace dtnn
