// The GPU's implementation of Cast: one thread per element.

#ifndef DTNN_KERNELS_CAST_CAST_GPU_H_
#define DTNN_KERNELS_CAST_CAST_GPU_H_

#include <memory>

#include "absl/status/statusor.h"
#include "kernels/cast/cast.h"

namespace dtnn {

// CreateCast has checked the types.
absl::StatusOr<std::unique_ptr<Cast>> CreateCastGpu(DeviceContext& context, DType from, DType to);

}  // namespace dtnn

#endif  // DTNN_KERNELS_CAST_CAST_GPU_H_
