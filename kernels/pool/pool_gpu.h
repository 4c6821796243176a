// The GPU's implementations of Pool and AdaptivePool, for any windows: forward a thread per output
// goes through its window; backward a thread per element of dx gathers from the outputs whose
// windows hold it, in their order, so that the result does not depend on scheduling.

#ifndef DTNN_KERNELS_POOL_POOL_GPU_H_
#define DTNN_KERNELS_POOL_POOL_GPU_H_

#include <memory>

#include "absl/status/statusor.h"
#include "kernels/pool/adaptive_pool.h"
#include "kernels/pool/pool.h"
#include "kernels/pool/pool_pass.h"

namespace dtnn::pool {

absl::StatusOr<std::unique_ptr<Pool>> CreatePoolGpu(DeviceContext& context, Geometry geometry);
absl::StatusOr<std::unique_ptr<AdaptivePool>> CreateAdaptivePoolGpu(DeviceContext& context,
                                                                    Geometry geometry);

}  // namespace dtnn::pool

#endif  // DTNN_KERNELS_POOL_POOL_GPU_H_
