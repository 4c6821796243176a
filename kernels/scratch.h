// Divides a block of memory into 64-byte aligned arrays; with a null block it only adds up the
// size.
//
//   ScratchDivider scratch(workspace.data());
//   float* packed = scratch.Take<float>(count);

#ifndef DTNN_KERNELS_SCRATCH_H_
#define DTNN_KERNELS_SCRATCH_H_

#include <cstddef>
#include <cstdint>

#include "tensor/rounding.h"

namespace dtnn {

class ScratchDivider {
 public:
  explicit ScratchDivider(std::byte* memory) : memory_(memory) {}

  template <typename E>
  E* Take(int64_t count) {
    std::byte* taken = memory_ == nullptr ? nullptr : memory_ + bytes_;
    bytes_ += RoundUp(size_t(count) * sizeof(E), 64);
    return reinterpret_cast<E*>(taken);
  }
  size_t bytes() const { return bytes_; }

 private:
  std::byte* memory_;
  size_t bytes_ = 0;
};

}  // namespace dtnn

#endif  // DTNN_KERNELS_SCRATCH_H_
