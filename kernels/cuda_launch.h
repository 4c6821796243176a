// Work on a GPU as a function of an index, so written that a plain loop on the host can run it too.
//
// A *body* is a small struct with `DTNN_HOST_DEVICE void operator()(int64_t i) const`; a *row body*
// gets a row and a group of lanes that share it. A CUDA primitive is a class template over a
// Runner: GpuRunner queues bodies on a context's stream, HostRunner loops. So a test runs the
// primitive's checks, views, indices and formulas without a GPU; only the launch and the lanes are
// left out. Bodies use no atomics, hence results are reproducible bit for bit.

#ifndef DTNN_KERNELS_CUDA_LAUNCH_H_
#define DTNN_KERNELS_CUDA_LAUNCH_H_

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "tensor/device.h"

#ifdef __CUDACC__
#define DTNN_HOST_DEVICE __host__ __device__
#include "kernels/cuda_context.h"
#include "kernels/cuda_status.h"
#include "tensor/rounding.h"
#include "tensor/status_macros.h"
#else
#define DTNN_HOST_DEVICE
#endif

namespace dtnn {

// A group of one lane: what a row body meets on the host.
struct SingleLane {
  DTNN_HOST_DEVICE int64_t lane() const { return 0; }
  DTNN_HOST_DEVICE int64_t size() const { return 1; }
  template <typename T>
  DTNN_HOST_DEVICE T Sum(T x) const {
    return x;
  }
  template <typename T>
  DTNN_HOST_DEVICE T Max(T x) const {
    return x;
  }
  DTNN_HOST_DEVICE void Sync() const {}
};

class HostRunner {
 public:
  Device device() const { return Device::Cpu(); }
  template <class Body>
  absl::Status ForEach(std::string_view, int64_t n, const Body& body) const {
    for (int64_t i = 0; i < n; ++i) body(i);
    return absl::OkStatus();
  }
  template <class Body>
  absl::Status ForEachRow(std::string_view, int64_t rows, const Body& body) const {
    for (int64_t row = 0; row < rows; ++row) body(row, SingleLane());
    return absl::OkStatus();
  }
};

#ifdef __CUDACC__

// The 32 threads of a warp; Sum and Max give every lane the same bits.
struct Warp {
  __device__ int64_t lane() const { return threadIdx.x % 32; }
  __device__ int64_t size() const { return 32; }
  template <typename T>
  __device__ T Sum(T x) const {
    for (int distance = 16; distance > 0; distance /= 2) {
      x += __shfl_xor_sync(0xffffffffu, x, distance);
    }
    return x;
  }
  template <typename T>
  __device__ T Max(T x) const {
    for (int distance = 16; distance > 0; distance /= 2) {
      const T other = __shfl_xor_sync(0xffffffffu, x, distance);
      x = x < other ? other : x;
    }
    return x;
  }
  __device__ void Sync() const { __syncwarp(); }
};

inline constexpr int64_t kCudaThreads = 256;

template <class Body>
__global__ void __launch_bounds__(kCudaThreads) ForEachKernel(int64_t n, const Body body) {
  const int64_t stride = int64_t(gridDim.x) * blockDim.x;
  for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += stride) body(i);
}

// One warp per row; the lanes of a warp stay together, so they may exchange values.
template <class Body>
__global__ void __launch_bounds__(kCudaThreads) ForEachRowKernel(int64_t rows, const Body body) {
  const int64_t stride = int64_t(gridDim.x) * blockDim.x / 32;
  int64_t row = (int64_t(blockIdx.x) * blockDim.x + threadIdx.x) / 32;
  for (; row < rows; row += stride) body(row, Warp());
}

class GpuRunner {
 public:
  explicit GpuRunner(const CudaContext& context) : context_(&context) {}

  Device device() const { return context_->device(); }
  const CudaContext& context() const { return *context_; }
  template <class Body>
  absl::Status ForEach(std::string_view what, int64_t n, const Body& body) const {
    if (n <= 0) return absl::OkStatus();
    DTNN_RETURN_IF_ERROR(context_->MakeCurrent());
    ForEachKernel<<<Blocks(n), unsigned(kCudaThreads), 0, context_->stream()>>>(n, body);
    return CudaStatus(what, cudaGetLastError());
  }
  template <class Body>
  absl::Status ForEachRow(std::string_view what, int64_t rows, const Body& body) const {
    if (rows <= 0) return absl::OkStatus();
    DTNN_RETURN_IF_ERROR(context_->MakeCurrent());
    ForEachRowKernel<<<Blocks(rows * 32), unsigned(kCudaThreads), 0, context_->stream()>>>(rows,
                                                                                           body);
    return CudaStatus(what, cudaGetLastError());
  }

 private:
  static unsigned Blocks(int64_t threads) {
    constexpr int64_t kMost = 1 << 16;  // a thread that has more to do strides
    const int64_t blocks = CeilDiv(threads, kCudaThreads);
    return unsigned(blocks < kMost ? blocks : kMost);
  }

  const CudaContext* context_;
};

#endif  // __CUDACC__

}  // namespace dtnn

#endif  // DTNN_KERNELS_CUDA_LAUNCH_H_
