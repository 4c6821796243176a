// The few CUDA runtime calls that the tensor library needs, as Status. Only with --config=cuda.

#ifndef DTNN_TENSOR_CUDA_MEMORY_H_
#define DTNN_TENSOR_CUDA_MEMORY_H_

#include <cstddef>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace dtnn::cuda {

// GPUs that this process may use; 0 without a driver.
int DeviceCount();

absl::StatusOr<void*> Allocate(int device, size_t bytes);
absl::StatusOr<void*> AllocatePinned(size_t bytes);
void Free(int device, void* pointer);
void FreePinned(void* pointer);

}  // namespace dtnn::cuda

#endif  // DTNN_TENSOR_CUDA_MEMORY_H_
