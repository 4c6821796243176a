// GPUs that need no GPU: the driver interface (tensor/gpu/driver.h) carried out by threads of this
// process, strict where CUDA leaves a mistake to chance. docs/gpu-code.md says what it finds and
// what it cannot.
//
//   const std::unique_ptr<Driver> driver = CreateSimulatedDriver({.seed = 7});
//
// Results of a correct program do not depend on the seed, which draws how late work begins, the
// order of blocks within a kernel, and that of a graph's nodes.

#ifndef DTNN_TENSOR_GPU_SIMULATED_SIMULATED_DRIVER_H_
#define DTNN_TENSOR_GPU_SIMULATED_SIMULATED_DRIVER_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "tensor/gpu/driver.h"

namespace dtnn::gpu {

struct SimulatedConfig {
  int devices = 8;
  uint64_t seed = 1;
  uint32_t most_delay_us = 20;  // per operation of a stream
  // What each GPU claims to be; its memory is taken from the host's as it is allocated.
  Properties properties = {.name = "simulated GPU",
                           .capability = 90,
                           .multiprocessors = 2,
                           .memory_bytes = size_t{1} << 30};
};

std::unique_ptr<Driver> CreateSimulatedDriver(const SimulatedConfig& config = {});

// Calls of the host so far that were accepted, on all streams of a GPU. Calls in a capture count
// when they are captured, not when they are replayed.
struct CallCounts {
  int64_t launches = 0, copies = 0, fills = 0, replays = 0;
  // For all that a stream or the GPU has been given, and for events.
  int64_t waits_for_all = 0, waits_for_events = 0;
};
// The counts of a simulated GPU.
CallCounts CallsOf(const Gpu& gpu);

}  // namespace dtnn::gpu

#endif  // DTNN_TENSOR_GPU_SIMULATED_SIMULATED_DRIVER_H_
