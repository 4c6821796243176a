#include "tensor/buffer.h"

#include <cstdint>
#include <cstring>
#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

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

}  // namespace
}  // namespace dtnn
