// What the CUDA runtime and cuBLAS answer, as a Status with their own words. For .cu files.

#ifndef DTNN_KERNELS_DEVICE_CUDA_STATUS_H_
#define DTNN_KERNELS_DEVICE_CUDA_STATUS_H_

#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include <string_view>

#include "absl/status/status.h"

namespace dtnn {

// Internal, naming what was attempted; OK for cudaSuccess.
absl::Status CudaStatus(std::string_view what, cudaError_t error);
absl::Status CublasStatus(std::string_view what, cublasStatus_t error);

}  // namespace dtnn

#endif  // DTNN_KERNELS_DEVICE_CUDA_STATUS_H_
