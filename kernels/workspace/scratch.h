// Divides a block of memory into aligned arrays; with a null block it only adds up the size.
//
//   ScratchDivider scratch(workspace.data());
//   float* packed = scratch.Take<float>(count);

#ifndef DTNN_KERNELS_WORKSPACE_SCRATCH_H_
#define DTNN_KERNELS_WORKSPACE_SCRATCH_H_

#include <cstddef>
#include <cstdint>

#include "tensor/rounding.h"

namespace dtnn {

// Bytes. NVIDIA's libraries take workspaces at multiples of the second: on Hopper, cuBLASLt
// refuses others.
inline constexpr size_t kScratchAlignment = 64;
inline constexpr size_t kGpuScratchAlignment = 256;

class ScratchDivider {
 public:
  explicit ScratchDivider(std::byte* memory, size_t alignment = kScratchAlignment)
      : memory_(memory), alignment_(alignment) {}

  template <typename E>
  E* Take(int64_t count) {
    std::byte* taken = memory_ == nullptr ? nullptr : memory_ + bytes_;
    bytes_ += RoundUp(size_t(count) * sizeof(E), alignment_);
    return reinterpret_cast<E*>(taken);
  }
  size_t bytes() const { return bytes_; }

 private:
  std::byte* memory_;
  size_t alignment_;
  size_t bytes_ = 0;
};

}  // namespace dtnn

#endif  // DTNN_KERNELS_WORKSPACE_SCRATCH_H_
