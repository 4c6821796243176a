#include "comm/transport/shared/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>

#include <cerrno>
#include <utility>

#include "comm/descriptors/system_error.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

// Before the rings, which begin at a page.
constexpr size_t kStateBytes = 4096;
static_assert(2 * sizeof(RingState) <= kStateBytes);

constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

size_t BytesOf(size_t ring_bytes) { return kStateBytes + 2 * ring_bytes; }

}  // namespace

size_t RingBytesFor(size_t others) {
  size_t bytes = kRingBytes;
  while (bytes > kLeastRingBytes && others * 2 * bytes > kMostSharedBytes) bytes /= 2;
  return bytes;
}

absl::StatusOr<SharedMemory> SharedMemory::Map(const Descriptor& descriptor, size_t ring_bytes) {
  void* const begin = mmap(nullptr, BytesOf(ring_bytes), PROT_READ | PROT_WRITE, MAP_SHARED,
                           descriptor.descriptor(), 0);
  if (begin == MAP_FAILED) return SystemError("cannot map shared memory", errno);
  return SharedMemory(static_cast<std::byte*>(begin), ring_bytes);
}

absl::StatusOr<SharedMemory> SharedMemory::Create(Descriptor& descriptor, size_t ring_bytes) {
  Descriptor file(memfd_create("dtnn ranks", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (file.descriptor() < 0) return SystemError("cannot make shared memory", errno);
  // With its pages: one that the system does not have when it is used ends the process.
  int error = 0;
  do {
    error = posix_fallocate(file.descriptor(), 0, off_t(BytesOf(ring_bytes)));
  } while (error == EINTR);
  if (error != 0) return SystemError("cannot make shared memory", error);
  if (fcntl(file.descriptor(), F_ADD_SEALS, kSeals) != 0) {
    return SystemError("cannot make shared memory", errno);
  }
  absl::StatusOr<SharedMemory> memory = Map(file, ring_bytes);
  if (memory.ok()) descriptor = std::move(file);
  return memory;
}

absl::StatusOr<SharedMemory> SharedMemory::Open(const Descriptor& descriptor, size_t ring_bytes) {
  struct stat file = {};
  if (fstat(descriptor.descriptor(), &file) != 0) {
    return SystemError("cannot look at shared memory", errno);
  }
  const int seals = fcntl(descriptor.descriptor(), F_GET_SEALS);
  if (size_t(file.st_size) != BytesOf(ring_bytes) || seals < 0 || (seals & kSeals) != kSeals) {
    return InvalidArgument("a file that is not the shared memory of two ranks");
  }
  return Map(descriptor, ring_bytes);
}

SharedMemory::SharedMemory(SharedMemory&& other) noexcept
    : begin_(std::exchange(other.begin_, nullptr)), ring_bytes_(other.ring_bytes_) {}

SharedMemory::~SharedMemory() {
  if (begin_ != nullptr) munmap(begin_, BytesOf(ring_bytes_));
}

RingState& SharedMemory::state(int direction) const {
  return reinterpret_cast<RingState*>(begin_)[direction];
}

std::span<std::byte> SharedMemory::ring(int direction) const {
  return {begin_ + kStateBytes + size_t(direction) * ring_bytes_, ring_bytes_};
}

}  // namespace dtnn
