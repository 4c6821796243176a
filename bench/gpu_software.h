// What a figure of a GPU was measured with: the card, its driver, CUDA's libraries.

#ifndef DTNN_BENCH_GPU_SOFTWARE_H_
#define DTNN_BENCH_GPU_SOFTWARE_H_

#include <string>

#include "absl/status/statusor.h"
#include "tensor/device.h"

namespace dtnn {

struct GpuSoftware {
  std::string card;                           // "NVIDIA H100 80GB HBM3"
  std::string driver, cuda, cudnn, cublaslt;  // versions; empty where a program has none
};

absl::StatusOr<GpuSoftware> DescribeGpu(Device device);

}  // namespace dtnn

#endif  // DTNN_BENCH_GPU_SOFTWARE_H_
