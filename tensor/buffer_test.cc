#include "tensor/buffer.h"

#include <cstdint>
#include <cstring>
#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/gpu/open_gpus.h"

namespace dtnn {
namespace {

using ::testing::HasSubstr;

TEST(BufferTest, IsAlignedAndWritableInItsWholeSize) {
  for (size_t bytes : {0, 1, 63, 64, 65, 4095, 4096, 1 << 20}) {
    absl::StatusOr<std::shared_ptr<Buffer>> buffer = Buffer::Allocate(Device::Cpu(), bytes);
    ASSERT_TRUE(buffer.ok()) << buffer.status();
    EXPECT_EQ((*buffer)->size(), bytes);
    ASSERT_NE((*buffer)->data(), nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>((*buffer)->data()) % Buffer::kAlignment, 0u) << bytes;
    std::memset((*buffer)->data(), 0xa5, bytes);
    EXPECT_TRUE((*buffer)->host_accessible());
    EXPECT_EQ((*buffer)->device(), Device::Cpu());
  }
}

TEST(BufferTest, ASizeBeyondTheAddressSpaceIsAnError) {
  constexpr size_t kMost = std::numeric_limits<size_t>::max();
  for (size_t bytes : {kMost, kMost - 63, kMost - 64, kMost - 127}) {
    EXPECT_EQ(Buffer::Allocate(Device::Cpu(), bytes).status().code(),
              absl::StatusCode::kResourceExhausted)
        << bytes;
  }
}

#ifndef DTNN_WITH_CUDA
TEST(BufferTest, ACpuBuildRefusesGpuMemoryAndSaysHowToGetIt) {
  for (auto [device, kind] : {std::pair(Device::Cuda(1), MemoryKind::kDefault),
                              std::pair(Device::Cuda(1), MemoryKind::kPinned)}) {
    const absl::Status status = Buffer::Allocate(device, 64, kind).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
    EXPECT_THAT(std::string(status.message()), HasSubstr("cuda:1"));
    EXPECT_THAT(std::string(status.message()), HasSubstr("--config=cuda"));
  }
}
#endif

TEST(BufferTest, MemoryOfASimulatedGpuIsItsOwn) {
  const gpu::Gpu& gpu = **gpu::OpenGpu(Device::Simulated(0));
  for (size_t bytes : {0, 1, 4097}) {
    const auto device = *Buffer::Allocate(Device::Simulated(0), bytes);
    EXPECT_EQ(device->size(), bytes);
    EXPECT_FALSE(device->host_accessible());
    EXPECT_EQ(device->device(), Device::Simulated(0));
    EXPECT_TRUE(gpu.allocations().Find(device->data(), bytes).ok());
    const auto pinned = *Buffer::Allocate(Device::Simulated(0), bytes, MemoryKind::kPinned);
    EXPECT_TRUE(pinned->host_accessible());
    std::memset(pinned->data(), 1, bytes);
  }
  EXPECT_EQ(gpu.allocations().total_bytes(gpu::MemoryKind::kDevice), 0u);
  EXPECT_EQ(gpu.allocations().total_bytes(gpu::MemoryKind::kPinned), 0u);
}

TEST(BufferTest, WhereThereIsNoMemoryIsAnError) {
  const int gpus = *gpu::CountGpus(DeviceType::kSimulated);
  EXPECT_EQ(Buffer::Allocate(Device::Simulated(gpus), 1).status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(Buffer::Allocate(Device::Simulated(0), size_t{1} << 50).status().code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(Buffer::Allocate(Device::Cpu(), 1, MemoryKind::kPinned).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(BufferDeathTest, TheHostCannotTouchIt) {
  const auto buffer = *Buffer::Allocate(Device::Simulated(0), 100);
  EXPECT_DEATH(*static_cast<volatile std::byte*>(buffer->data()) = std::byte{1},
               "the host writes byte 0 of 100 bytes of device memory for \"a buffer\"");
}

}  // namespace
}  // namespace dtnn
