// Device memory in stream order, like cudaMallocAsync: Free does not wait, and a block that a
// stream has freed serves its next Allocate at once. Another stream gets it when the work before
// the free is done, or, when the GPU has no other memory, waits on the GPU for it. Blocks come from
// Gpu::Allocate once and stay until Release.
//
// Sizes are rounded up to one of four steps per power of two, so that a block serves similar sizes;
// at most a fifth is lost. Not during a capture: graphs use memory that was allocated before.
//
// Errors: ResourceExhausted with what was wanted, for what, and what holds how much; NotFound for
// what is not allocated (any more). Several threads may use a pool, each with its own streams. The
// pool outlives no stream that it has seen, nor its GPU; what is left at its end is logged.

#ifndef DTNN_TENSOR_GPU_MEMORY_POOL_H_
#define DTNN_TENSOR_GPU_MEMORY_POOL_H_

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tensor/gpu/driver.h"

namespace dtnn::gpu {

class MemoryPool {
 public:
  explicit MemoryPool(Gpu& gpu) : gpu_(gpu) {}
  ~MemoryPool();
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;

  // Not initialised; to be used on `stream`, or on others after an event recorded there.
  absl::StatusOr<void*> Allocate(Stream& stream, size_t bytes, std::string_view what);
  // After the work that `stream` has been given so far; null is ignored.
  absl::Status Free(Stream& stream, void* memory);
  // Gives blocks that are free back to the GPU; waits for all its work.
  absl::Status Release();

  // What is allocated, a line each, the largest first; "" when all is free.
  std::string Leaks() const;
  size_t used_bytes() const;    // allocated, rounded up
  size_t pooled_bytes() const;  // taken from the GPU

 private:
  struct Block {
    std::byte* memory;
    size_t bytes;
    size_t used;                   // what was asked for
    std::string what;              // while used
    Stream* freed_by = nullptr;    // while free
    std::unique_ptr<Event> freed;  // recorded there
  };

  absl::StatusOr<Block> Take(Stream& stream, size_t bytes);
  absl::StatusOr<Block> TakeFromGpu(Stream& stream, size_t bytes);
  absl::Status ReleaseLocked();
  std::string LeaksLocked() const;

  Gpu& gpu_;
  mutable std::mutex mutex_;
  std::map<std::byte*, Block> used_;
  std::multimap<size_t, Block> free_;  // by size
};

// The size of a block for so many bytes.
size_t BlockBytes(size_t bytes);

}  // namespace dtnn::gpu

#endif  // DTNN_TENSOR_GPU_MEMORY_POOL_H_
