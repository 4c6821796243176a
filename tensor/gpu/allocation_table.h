// The memory that a GPU has given out: from an address to the allocation around it, with what it is
// for, so that errors can say so. Several threads may use a table at once.

#ifndef DTNN_TENSOR_GPU_ALLOCATION_TABLE_H_
#define DTNN_TENSOR_GPU_ALLOCATION_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace dtnn::gpu {

enum class MemoryKind : uint8_t { kDevice, kPinned };

struct Allocation {
  std::byte* base = nullptr;
  size_t bytes = 0;
  MemoryKind kind = MemoryKind::kDevice;
  std::string what;     // "activations"
  uint64_t number = 0;  // no other of the process has it

  std::string ToString() const;  // 4096 bytes of device memory for "activations"
};

class AllocationTable {
 public:
  void Add(std::byte* base, size_t bytes, MemoryKind kind, std::string_view what);
  // NotFound for an address that is not the beginning of an allocation; says so where it was one
  // that has been removed already.
  absl::StatusOr<Allocation> Remove(const void* base);
  // The allocation that holds these bytes; InvalidArgument where none does.
  absl::StatusOr<Allocation> Find(const void* begin, size_t bytes) const;

  size_t total_bytes(MemoryKind kind) const;
  // The largest few of a kind, a line each; "" when there are none.
  std::string Largest(MemoryKind kind, size_t most = 5) const;

 private:
  mutable std::mutex mutex_;
  std::map<const std::byte*, Allocation> live_;
  std::deque<Allocation> removed_;  // the last few
  size_t bytes_[2] = {};
};

}  // namespace dtnn::gpu

#endif  // DTNN_TENSOR_GPU_ALLOCATION_TABLE_H_
