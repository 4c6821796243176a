// Work on a GPU as a function of an index: body(0) .. body(n-1), in any order, on any thread.
//
// A body is a small struct with a `DTNN_HOST_DEVICE void operator()(int64_t i) const`. Such a body
// also runs in a plain loop on the host (OnHost), which is how its formulas and indices are tested
// where there is no GPU. Bodies use no shared memory and no atomics, so results are reproducible.

#ifndef DTNN_KERNELS_CUDA_LAUNCH_H_
#define DTNN_KERNELS_CUDA_LAUNCH_H_

#include <cstdint>

#ifdef __CUDACC__
#define DTNN_HOST_DEVICE __host__ __device__
#include "kernels/cuda_context.h"
#include "tensor/status_macros.h"
#else
#define DTNN_HOST_DEVICE
#endif

namespace dtnn {

template <class Body>
void OnHost(int64_t n, const Body& body) {
  for (int64_t i = 0; i < n; ++i) body(i);
}

#ifdef __CUDACC__

template <class Body>
__global__ void __launch_bounds__(256) ForEachKernel(int64_t n, const Body body) {
  const int64_t stride = int64_t(gridDim.x) * blockDim.x;
  for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += stride) body(i);
}

// Queues body(0) .. body(n-1) on the context's stream. `what` names the operation in errors.
template <class Body>
absl::Status OnGpu(const CudaContext& context, std::string_view what, int64_t n, const Body& body) {
  constexpr int64_t kThreads = 256, kMaxBlocks = 1 << 16;
  if (n <= 0) return absl::OkStatus();
  DTNN_RETURN_IF_ERROR(context.MakeCurrent());
  const int64_t blocks = (n + kThreads - 1) / kThreads;
  ForEachKernel<<<unsigned(blocks < kMaxBlocks ? blocks : kMaxBlocks), unsigned(kThreads), 0,
                  context.stream()>>>(n, body);
  return CudaStatus(what, cudaGetLastError());
}

#endif  // __CUDACC__

}  // namespace dtnn

#endif  // DTNN_KERNELS_CUDA_LAUNCH_H_
