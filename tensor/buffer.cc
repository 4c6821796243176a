#include "tensor/buffer.h"

#include <cstdlib>

#include "absl/status/status.h"
#include "tensor/errors.h"
#include "tensor/gpu/open_gpus.h"

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

}  // namespace

absl::StatusOr<std::shared_ptr<Buffer>> Buffer::Allocate(Device device, size_t bytes,
                                                         MemoryKind kind) {
  gpu::Gpu* gpu = nullptr;
  void* data;
  if (device.is_cpu()) {
    if (kind == MemoryKind::kPinned) {
      return absl::InvalidArgumentError("pinned memory belongs to a GPU, not to the cpu");
    }
    DTNN_ASSIGN_OR_RETURN(data, AllocateHost(bytes));
  } else {
    DTNN_ASSIGN_OR_RETURN(gpu, gpu::OpenGpu(device));
    DTNN_ASSIGN_OR_RETURN(data, kind == MemoryKind::kPinned ? gpu->AllocatePinned(bytes, "a buffer")
                                                            : gpu->Allocate(bytes, "a buffer"));
  }
  return std::shared_ptr<Buffer>(
      new Buffer(static_cast<std::byte*>(data), bytes, device, kind, gpu));
}

Buffer::~Buffer() {
  if (gpu_ == nullptr) {
    std::free(data_);
  } else {
    (void)gpu_->Free(data_);
  }
}

}  // namespace dtnn
