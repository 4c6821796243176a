// Runs kernels as a GPU would: block by block, in an order drawn from a seed, every thread of a
// block with its own indices. Threads that wait for each other are fibers that take turns, so a
// warp goes in lock step from one meeting to the next, and a barrier is one.
//
// Shared memory is a block's own: without a value at first (each byte 0xff), and nothing lies after
// its end. Lanes that meet for different purposes, or not at all, are an error, as is a fault.

#ifndef DTNN_TENSOR_GPU_SIMULATED_KERNEL_RUNNER_H_
#define DTNN_TENSOR_GPU_SIMULATED_KERNEL_RUNNER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tensor/gpu/kernel.h"
#include "tensor/gpu/simulated/mapping.h"
#include "tensor/gpu/simulated_thread.h"
#include "tensor/philox.h"

namespace dtnn::gpu {

// A kernel with arguments of its own.
struct OwnedKernel {
  explicit OwnedKernel(const Kernel& kernel);

  std::string name;
  Dim3 grid, block;
  size_t shared_bytes;
  Cooperation cooperation;
  std::unique_ptr<std::byte[]> arguments;
  void (*simulate)(const void* arguments, const SimulatedThread& thread);
};

class KernelRunner {
 public:
  explicit KernelRunner(const Philox& random);
  ~KernelRunner();

  // Runs the whole grid; "" or what ended it. One at a time.
  std::string Run(const OwnedKernel& kernel);

 private:
  class Block;

  Philox random_;
  uint64_t runs_ = 0;
  std::unique_ptr<Block> block_;
};

}  // namespace dtnn::gpu

#endif  // DTNN_TENSOR_GPU_SIMULATED_KERNEL_RUNNER_H_
