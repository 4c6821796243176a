// Kernels from bodies, for CUDA and for simulated GPUs alike.
//
//   ForEach     body(i) for i in 0 .. n-1, a thread each
//   ForEachRow  body(row, warp), a warp each: lane(), size(), Sum, Max, Shuffle, Sync
//   KernelOf    any other shape: a functor over a thread, with shared memory, Barrier(), and
//               IsLast(arrived, blocks), which all threads of a block call together: true in the
//               last of so many blocks. That one may read, by LoadOfOthers, what the others wrote
//               before; `arrived`, in the device's memory, is 0 before the first and after the last
//
// A body is a small trivially copyable struct. It says in `void Declare(int64_t n, Accesses&)`
// what it touches for n elements or rows (kernel.h). Code that shall run on CUDA is compiled by
// nvcc; what another compiler made of it runs on simulated GPUs only.

#ifndef DTNN_TENSOR_GPU_LAUNCH_H_
#define DTNN_TENSOR_GPU_LAUNCH_H_

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "absl/status/status.h"
#include "tensor/gpu/driver.h"
#include "tensor/gpu/kernel.h"
#include "tensor/gpu/simulated_thread.h"

#ifdef __CUDACC__
#define DTNN_GPU_COMPILER compiled_by_nvcc
#else
#define DTNN_GPU_COMPILER compiled_for_the_host
#endif

namespace dtnn::gpu {
// A program may hold a template's instances of both compilers: they are different functions.
inline namespace DTNN_GPU_COMPILER {

inline constexpr uint32_t kThreadsPerBlock = 256;

#ifdef __CUDACC__

// The 32 threads of a warp; Sum and Max give every lane the same bits.
struct CudaWarp {
  __device__ int64_t lane() const { return threadIdx.x % kWarpSize; }
  __device__ int64_t size() const { return kWarpSize; }
  __device__ void Sync() const { __syncwarp(); }
  template <typename T>
  __device__ T Sum(T x) const {
    for (int distance = kWarpSize / 2; distance > 0; distance /= 2) {
      x += __shfl_xor_sync(0xffffffffu, x, distance);
    }
    return x;
  }
  template <typename T>
  __device__ T Max(T x) const {
    for (int distance = kWarpSize / 2; distance > 0; distance /= 2) {
      const T other = __shfl_xor_sync(0xffffffffu, x, distance);
      x = x < other ? other : x;
    }
    return x;
  }
  template <typename T>
  __device__ T Shuffle(T x, int64_t from) const {
    return __shfl_sync(0xffffffffu, x, int(from));
  }
};

struct CudaThread {
  __device__ Dim3 grid() const { return {gridDim.x, gridDim.y, gridDim.z}; }
  __device__ Dim3 block() const { return {blockDim.x, blockDim.y, blockDim.z}; }
  __device__ Dim3 block_index() const { return {blockIdx.x, blockIdx.y, blockIdx.z}; }
  __device__ Dim3 thread_index() const { return {threadIdx.x, threadIdx.y, threadIdx.z}; }
  __device__ int64_t grid_index() const { return int64_t(blockIdx.x) * blockDim.x + threadIdx.x; }
  __device__ int64_t grid_size() const { return int64_t(gridDim.x) * blockDim.x; }
  __device__ CudaWarp warp() const { return {}; }
  __device__ void Barrier() const { __syncthreads(); }
  __device__ bool IsLast(uint32_t* arrived, uint32_t blocks) const {
    __threadfence();
    __syncthreads();
    bool last = false;
    if (threadIdx.x + threadIdx.y + threadIdx.z == 0) {
      last = atomicAdd(arrived, 1u) + 1 == blocks;
      if (last) *arrived = 0;
    }
    last = __syncthreads_or(last);
    __threadfence();
    return last;
  }
  template <typename T>
  __device__ T* Shared() const {
    extern __shared__ __align__(16) unsigned char dtnn_shared_memory[];
    return reinterpret_cast<T*>(dtnn_shared_memory);
  }
};

template <class Functor>
__global__ void __launch_bounds__(Functor::kThreads) RunFunctor(const Functor functor) {
  functor(CudaThread());
}

#endif  // __CUDACC__

// What another block of the same kernel wrote: not from a cache that does not see it.
DTNN_HOST_DEVICE inline double LoadOfOthers(const double* from) {
#ifdef __CUDA_ARCH__
  return __ldcg(from);
#else
  return *from;
#endif
}

// `Functor` has, beside the two members that kernel.h asks for, the constants kThreads, the most
// threads per block that it is launched with, and kCooperation.
template <class Functor>
Kernel KernelOf(std::string_view name, Dim3 grid, Dim3 block, size_t shared_bytes,
                const Functor& functor) {
  static_assert(std::is_trivially_copyable_v<Functor> && alignof(Functor) <= 16);
  Kernel kernel = {.name = name,
                   .grid = grid,
                   .block = block,
                   .shared_bytes = shared_bytes,
                   .cooperation = Functor::kCooperation,
                   .most_threads = Functor::kThreads,
                   .arguments = &functor,
                   .argument_bytes = sizeof(Functor)};
  kernel.declare = [](void* arguments, Accesses& accesses) {
    static_cast<Functor*>(arguments)->Declare(accesses);
  };
  kernel.simulate = [](const void* arguments, const SimulatedThread& thread) {
    (*static_cast<const Functor*>(arguments))(thread);
  };
#ifdef __CUDACC__
  kernel.cuda_function = reinterpret_cast<const void*>(&RunFunctor<Functor>);
#endif
  return kernel;
}

template <class Body>
struct EachElement {
  static constexpr uint32_t kThreads = kThreadsPerBlock;
  static constexpr Cooperation kCooperation = Cooperation::kNone;
  int64_t n;
  Body body;

  void Declare(Accesses& accesses) { body.Declare(n, accesses); }
  template <class Thread>
  DTNN_HOST_DEVICE void operator()(const Thread& thread) const {
    for (int64_t i = thread.grid_index(); i < n; i += thread.grid_size()) body(i);
  }
};

template <class Body>
struct EachRow {
  static constexpr uint32_t kThreads = kThreadsPerBlock;
  static constexpr Cooperation kCooperation = Cooperation::kWarp;
  int64_t rows;
  Body body;

  void Declare(Accesses& accesses) { body.Declare(rows, accesses); }
  template <class Thread>
  DTNN_HOST_DEVICE void operator()(const Thread& thread) const {
    const int64_t stride = thread.grid_size() / kWarpSize;
    for (int64_t row = thread.grid_index() / kWarpSize; row < rows; row += stride) {
      body(row, thread.warp());
    }
  }
};

// Blocks for so many threads; a thread that has more to do strides.
inline Dim3 GridFor(int64_t threads) {
  constexpr int64_t kMost = 1 << 16;
  return {uint32_t(std::min((threads + kThreadsPerBlock - 1) / kThreadsPerBlock, kMost))};
}

template <class Body>
absl::Status ForEach(Stream& stream, std::string_view name, int64_t n, const Body& body) {
  if (n <= 0) return absl::OkStatus();
  const EachElement<Body> functor = {n, body};
  return stream.Launch(KernelOf(name, GridFor(n), {kThreadsPerBlock}, 0, functor));
}

template <class Body>
absl::Status ForEachRow(Stream& stream, std::string_view name, int64_t rows, const Body& body) {
  if (rows <= 0) return absl::OkStatus();
  const EachRow<Body> functor = {rows, body};
  return stream.Launch(KernelOf(name, GridFor(rows * kWarpSize), {kThreadsPerBlock}, 0, functor));
}

}  // namespace DTNN_GPU_COMPILER
}  // namespace dtnn::gpu

#endif  // DTNN_TENSOR_GPU_LAUNCH_H_
