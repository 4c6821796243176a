// The drivers there are, by kind.

#ifndef DTNN_TENSOR_GPU_DRIVERS_H_
#define DTNN_TENSOR_GPU_DRIVERS_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "tensor/gpu/driver.h"

namespace dtnn::gpu {

enum class DriverKind : uint8_t { kCuda, kSimulated };

// Unimplemented for CUDA's in a build without --config=cuda. A simulated one draws its delays from
// the number in the environment variable DTNN_GPU_SEED, 1 by default; InvalidArgument for another.
absl::StatusOr<std::unique_ptr<Driver>> CreateDriver(DriverKind kind);

}  // namespace dtnn::gpu

#endif  // DTNN_TENSOR_GPU_DRIVERS_H_
