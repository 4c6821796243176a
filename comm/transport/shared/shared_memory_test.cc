#include "comm/transport/shared/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <utility>

#include "gtest/gtest.h"
#include "tensor/must.h"
#include "tools/testing/descriptors.h"

namespace dtnn {
namespace {

constexpr size_t kBytes = 4096;

TEST(SharedMemoryTest, BothHaveTheSameRingsAndTheDescriptorIsNotNeededLonger) {
  Descriptor file;
  const SharedMemory created = Must(SharedMemory::Create(file, kBytes));
  SharedMemory moved = Must(SharedMemory::Open(file, kBytes));
  file = Descriptor();
  const SharedMemory opened = std::move(moved);
  for (const int direction : {0, 1}) {
    ASSERT_EQ(created.ring(direction).size(), kBytes);
    ASSERT_EQ(opened.ring(direction).size(), kBytes);
    EXPECT_EQ(opened.state(direction).written, 0);
    EXPECT_EQ(opened.state(direction).ended, 0);
    created.state(direction).written = 7 + uint64_t(direction);
    opened.ring(direction).front() = std::byte(direction + 1);
    opened.ring(direction).back() = std::byte(direction + 3);
  }
  for (const int direction : {0, 1}) {
    EXPECT_EQ(opened.state(direction).written, 7 + uint64_t(direction));
    EXPECT_EQ(created.ring(direction).front(), std::byte(direction + 1));
    EXPECT_EQ(created.ring(direction).back(), std::byte(direction + 3));
  }
}

TEST(SharedMemoryTest, NeitherSideCanTakeItsPagesAway) {
  Descriptor file;
  const SharedMemory memory = Must(SharedMemory::Create(file, kBytes));
  for (const off_t size : {0, 1 << 20}) {
    EXPECT_EQ(ftruncate(file.descriptor(), size), -1);
    EXPECT_EQ(errno, EPERM);
  }
}

// One that is missing is an error now, not the end of the process later.
TEST(SharedMemoryTest, AllItsPagesAreThere) {
  Descriptor file;
  const SharedMemory memory = Must(SharedMemory::Create(file, kBytes));
  struct stat found = {};
  ASSERT_EQ(fstat(file.descriptor(), &found), 0);
  EXPECT_GE(found.st_size, off_t(2 * kBytes));
  EXPECT_GE(found.st_blocks * 512, found.st_size);
}

TEST(SharedMemoryTest, ManyOthersGetSmallerRings) {
  EXPECT_EQ(RingBytesFor(0), kRingBytes);
  EXPECT_EQ(RingBytesFor(1), kRingBytes);
  EXPECT_EQ(RingBytesFor(16), kRingBytes);
  EXPECT_EQ(RingBytesFor(17), kRingBytes / 2);
  EXPECT_EQ(RingBytesFor(63), kRingBytes / 4);
  EXPECT_EQ(RingBytesFor(10000), kLeastRingBytes);
  for (size_t others = 1; others < 600; ++others) {
    const size_t bytes = RingBytesFor(others);
    EXPECT_EQ(bytes & (bytes - 1), 0);
    EXPECT_TRUE(bytes == kLeastRingBytes || 2 * bytes * others <= kMostSharedBytes) << others;
  }
}

TEST(SharedMemoryTest, OtherFilesAreRefused) {
  const auto error = [](const Descriptor& file) {
    return SharedMemory::Open(file, kBytes).status().code();
  };
  Descriptor right, larger;
  const SharedMemory memory = Must(SharedMemory::Create(right, kBytes));
  const SharedMemory other = Must(SharedMemory::Create(larger, 2 * kBytes));
  EXPECT_EQ(error(right), absl::StatusCode::kOk);
  EXPECT_EQ(error(larger), absl::StatusCode::kInvalidArgument);
  struct stat found = {};
  ASSERT_EQ(fstat(right.descriptor(), &found), 0);
  // Its pages could be taken away.
  const Descriptor unsealed(memfd_create("unsealed", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(ftruncate(unsealed.descriptor(), found.st_size), 0);
  EXPECT_EQ(error(unsealed), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(fcntl(unsealed.descriptor(), F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SEAL), 0);
  EXPECT_EQ(error(unsealed), absl::StatusCode::kInvalidArgument);
  const Descriptor on_disk(
      open(::testing::TempDir().c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (on_disk.descriptor() >= 0) {
    ASSERT_EQ(ftruncate(on_disk.descriptor(), found.st_size), 0);
    EXPECT_EQ(error(on_disk), absl::StatusCode::kInvalidArgument);
  }
  EXPECT_EQ(error(Descriptor()), absl::StatusCode::kUnavailable);
}

TEST(SharedMemoryTest, LeavesNothingOpen) {
  const int64_t before = testing::OpenDescriptors();
  {
    Descriptor file;
    const SharedMemory memory = Must(SharedMemory::Create(file, kBytes));
    EXPECT_EQ(testing::OpenDescriptors(), before + 1);
    file = Descriptor();
    EXPECT_EQ(testing::OpenDescriptors(), before);
  }
  const testing::NoNewDescriptors none;
  Descriptor file;
  EXPECT_EQ(SharedMemory::Create(file, kBytes).status().code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(file.descriptor(), -1);
}

}  // namespace
}  // namespace dtnn
