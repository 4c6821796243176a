// One block of memory with one owner: 64-byte aligned on the host, or on a GPU.
//
// Buffers are shared by reference: a Tensor is a view into one, and the memory lives until the last
// view is gone. Memory of a new buffer is not initialised. That of a GPU comes from its driver
// (tensor/gpu/open_gpus.h), whose errors it answers with; freeing it waits for the GPU. Without
// memory left the answer is ResourceExhausted.

#ifndef DTNN_TENSOR_BUFFER_H_
#define DTNN_TENSOR_BUFFER_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "tensor/device.h"

namespace dtnn {
namespace gpu {
class Gpu;
}

enum class MemoryKind : uint8_t {
  kDefault,  // host memory on the CPU, device memory on a GPU
  kPinned,   // page-locked host memory that a GPU copies from asynchronously
};

class Buffer {
 public:
  static constexpr size_t kAlignment = 64;

  static absl::StatusOr<std::shared_ptr<Buffer>> Allocate(Device device, size_t bytes,
                                                          MemoryKind kind = MemoryKind::kDefault);
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  std::byte* data() const { return data_; }
  size_t size() const { return size_; }
  Device device() const { return device_; }
  // True where the host may dereference data().
  bool host_accessible() const { return device_.is_cpu() || kind_ == MemoryKind::kPinned; }

 private:
  Buffer(std::byte* data, size_t size, Device device, MemoryKind kind, gpu::Gpu* gpu)
      : data_(data), size_(size), device_(device), kind_(kind), gpu_(gpu) {}

  std::byte* data_;
  size_t size_;
  Device device_;
  MemoryKind kind_;
  gpu::Gpu* gpu_;  // null for memory of the host
};

}  // namespace dtnn

#endif  // DTNN_TENSOR_BUFFER_H_
