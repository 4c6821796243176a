// Memory of the calling thread for packed operands: grows to the largest request and stays until
// the thread ends, so that repeated products allocate nothing.

#ifndef DTNN_KERNELS_GEMM_SCRATCH_H_
#define DTNN_KERNELS_GEMM_SCRATCH_H_

#include <cstddef>

namespace dtnn {

// At least `bytes`, aligned to 64; contents undefined, valid until this thread's next call.
std::byte* ThreadScratch(size_t bytes);

}  // namespace dtnn

#endif  // DTNN_KERNELS_GEMM_SCRATCH_H_
