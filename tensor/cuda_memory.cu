#include <cuda_runtime_api.h>

#include "absl/strings/str_cat.h"
#include "tensor/cuda_memory.h"

namespace dtnn::cuda {
namespace {

absl::Status ToStatus(cudaError_t error, size_t bytes) {
  if (error == cudaSuccess) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("no GPU memory for ", bytes, " bytes: ", cudaGetErrorString(error)));
}

}  // namespace

int DeviceCount() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess ? count : 0;
}

absl::StatusOr<void*> Allocate(int device, size_t bytes) {
  void* pointer = nullptr;
  cudaError_t error = cudaSetDevice(device);
  if (error == cudaSuccess) error = cudaMalloc(&pointer, bytes);
  if (absl::Status status = ToStatus(error, bytes); !status.ok()) return status;
  return pointer;
}

absl::StatusOr<void*> AllocatePinned(size_t bytes) {
  void* pointer = nullptr;
  if (absl::Status status = ToStatus(cudaMallocHost(&pointer, bytes), bytes); !status.ok()) {
    return status;
  }
  return pointer;
}

void Free(int device, void* pointer) {
  cudaSetDevice(device);
  cudaFree(pointer);
}

void FreePinned(void* pointer) { cudaFreeHost(pointer); }

}  // namespace dtnn::cuda
