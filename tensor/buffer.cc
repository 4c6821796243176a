#include "tensor/buffer.h"

#include <cstdlib>

#include "absl/status/status.h"
#include "tensor/errors.h"
#ifdef DTNN_WITH_CUDA
#include "tensor/cuda_memory.h"
#endif

namespace dtnn {
namespace {

absl::StatusOr<void*> AllocateHost(size_t bytes) {
  // aligned_alloc wants a multiple of the alignment; one spare line also lets a vector kernel load
  // (never store) a little past the last element.
  const size_t rounded = (bytes / Buffer::kAlignment + 2) * Buffer::kAlignment;
  if (rounded < bytes)
    return absl::ResourceExhaustedError("a buffer larger than the address space");
  void* data = std::aligned_alloc(Buffer::kAlignment, rounded);
  if (data == nullptr) {
    return ResourceExhausted("no memory for ", bytes, " bytes");
  }
  return data;
}

absl::StatusOr<void*> AllocateBytes(Device device, size_t bytes, MemoryKind kind) {
  if (device.is_cpu() && kind == MemoryKind::kDefault) return AllocateHost(bytes);
#ifdef DTNN_WITH_CUDA
  return kind == MemoryKind::kPinned ? cuda::AllocatePinned(bytes)
                                     : cuda::Allocate(device.index, bytes);
#else
  return Unimplemented("this build has no GPU support, so there is no memory on ",
                       device.ToString(), "; build with --config=cuda");
#endif
}

}  // namespace

absl::StatusOr<std::shared_ptr<Buffer>> Buffer::Allocate(Device device, size_t bytes,
                                                         MemoryKind kind) {
  absl::StatusOr<void*> data = AllocateBytes(device, bytes, kind);
  if (!data.ok()) return data.status();
  return std::shared_ptr<Buffer>(new Buffer(static_cast<std::byte*>(*data), bytes, device, kind));
}

Buffer::~Buffer() {
  if (device_.is_cpu() && kind_ == MemoryKind::kDefault) {
    std::free(data_);
    return;
  }
#ifdef DTNN_WITH_CUDA
  if (kind_ == MemoryKind::kPinned) {
    cuda::FreePinned(data_);
  } else {
    cuda::Free(device_.index, data_);
  }
#endif
}

}  // namespace dtnn
