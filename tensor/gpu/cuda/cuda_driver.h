// NVIDIA's GPUs as tensor/gpu/driver.h has them, through the CUDA runtime. Only with --config=cuda.
//
// Device memory is cudaMalloc's, pinned memory cudaMallocHost's; streams do not wait for the legacy
// default stream; captures are cudaStreamCaptureModeThreadLocal, so that a thread that watches
// others' work may continue. Every error carries the runtime's own name and number.

#ifndef DTNN_TENSOR_GPU_CUDA_CUDA_DRIVER_H_
#define DTNN_TENSOR_GPU_CUDA_CUDA_DRIVER_H_

#include <memory>

#include "tensor/gpu/driver.h"

namespace dtnn::gpu {

std::unique_ptr<Driver> CreateCudaDriver();

}  // namespace dtnn::gpu

#endif  // DTNN_TENSOR_GPU_CUDA_CUDA_DRIVER_H_
