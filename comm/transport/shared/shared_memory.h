// Memory that two processes have mapped: two rings (ring.h), one in each direction.
//
// It is a file without a name, which is gone with the last process that has it open or mapped,
// however that ends. All its pages are taken from the system when it is made, and neither process
// can change its size, so no access to it can fail. (A process that gives pages back on purpose,
// takes them from the system again at the next access, and has zeros there.)

#ifndef DTNN_COMM_TRANSPORT_SHARED_SHARED_MEMORY_H_
#define DTNN_COMM_TRANSPORT_SHARED_SHARED_MEMORY_H_

#include <cstddef>
#include <span>

#include "absl/status/statusor.h"
#include "comm/descriptors/descriptor.h"
#include "comm/transport/shared/ring.h"

namespace dtnn {

// The size of a ring: what one side moves while the other one waits for a processor that others
// keep busy. With a quarter of it an exchange is at times slower than by TCP then
// (bench/notes/transports.md).
inline constexpr size_t kRingBytes = 2 << 20;
// What a process has in rings with all others, as long as they are not smaller than the least.
inline constexpr size_t kMostSharedBytes = 64 << 20, kLeastRingBytes = 64 << 10;

// The size of a ring for each of so many others: the memory of n processes is n (n - 1) rings.
size_t RingBytesFor(size_t others);

class SharedMemory {
 public:
  // New memory, and its descriptor, for the other process. `ring_bytes`: a power of two. Errors:
  // ResourceExhausted, Unavailable where the system has none.
  static absl::StatusOr<SharedMemory> Create(Descriptor& descriptor,
                                             size_t ring_bytes = kRingBytes);
  // The other process's. InvalidArgument where it is not of Create with that size.
  static absl::StatusOr<SharedMemory> Open(const Descriptor& descriptor,
                                           size_t ring_bytes = kRingBytes);
  SharedMemory(SharedMemory&& other) noexcept;
  SharedMemory& operator=(SharedMemory&&) = delete;
  ~SharedMemory();

  // 0: from the process that created it to the other one; 1: back.
  RingState& state(int direction) const;
  std::span<std::byte> ring(int direction) const;

 private:
  SharedMemory(std::byte* begin, size_t ring_bytes) : begin_(begin), ring_bytes_(ring_bytes) {}
  static absl::StatusOr<SharedMemory> Map(const Descriptor& descriptor, size_t ring_bytes);

  std::byte* begin_;
  size_t ring_bytes_;
};

}  // namespace dtnn

#endif  // DTNN_COMM_TRANSPORT_SHARED_SHARED_MEMORY_H_
