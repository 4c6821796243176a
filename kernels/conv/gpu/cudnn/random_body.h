// Random operands for timing: on zeros a GPU draws less power, keeps higher clocks, and would make
// a plan look faster than it is.

#ifndef DTNN_KERNELS_CONV_GPU_CUDNN_RANDOM_BODY_H_
#define DTNN_KERNELS_CONV_GPU_CUDNN_RANDOM_BODY_H_

#include <cstdint>

#include "kernels/gpu/philox.h"
#include "tensor/gpu/kernel.h"
#include "tensor/philox.h"
#include "tensor/tensor.h"

namespace dtnn::cudnn {

// to[i] = Philox(0, stream).Uniform(i) - 0.5, as for the CPU's variants. A thread per four.
template <typename T>
struct RandomBody {
  uint64_t stream;
  int64_t size;
  T* to;

  int64_t threads() const { return (size + 3) / 4; }
  void Declare(int64_t, gpu::Accesses& accesses) { accesses.Writes(to, size); }
  DTNN_HOST_DEVICE void operator()(int64_t block) const {
    const PhiloxBlock random = PhiloxAt(/*seed=*/0, stream, uint64_t(block));
    for (int word = 0; word < 4 && block * 4 + word < size; ++word) {
      to[block * 4 + word] = T(Wide<T>((random.word[word] >> 8) * 0x1p-24 - 0.5));
    }
  }
};

}  // namespace dtnn::cudnn

#endif  // DTNN_KERNELS_CONV_GPU_CUDNN_RANDOM_BODY_H_
