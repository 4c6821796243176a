// The GPU's implementation of BatchNorm: sums per channel by up to 128 threads over interleaved
// positions, added in order; coefficients per channel by a thread each; the writing steps by a
// thread per element. Statistics and sums are float64, each part relative to an element of its own.

#ifndef DTNN_KERNELS_BATCH_NORM_BATCH_NORM_GPU_H_
#define DTNN_KERNELS_BATCH_NORM_BATCH_NORM_GPU_H_

#include <memory>

#include "absl/status/statusor.h"
#include "kernels/batch_norm/batch_norm.h"

namespace dtnn {

// The spec has been checked.
absl::StatusOr<std::unique_ptr<BatchNorm>> CreateBatchNormGpu(DeviceContext& context,
                                                              const BatchNormSpec& spec);

}  // namespace dtnn

#endif  // DTNN_KERNELS_BATCH_NORM_BATCH_NORM_GPU_H_
