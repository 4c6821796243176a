// The GPU's implementation of NormPair.

#ifndef DTNN_KERNELS_BATCH_NORM_NORM_PAIR_GPU_H_
#define DTNN_KERNELS_BATCH_NORM_NORM_PAIR_GPU_H_

#include <memory>

#include "absl/status/statusor.h"
#include "kernels/batch_norm/norm_pair.h"

namespace dtnn {

// The spec has been checked.
absl::StatusOr<std::unique_ptr<NormPair>> CreateNormPairGpu(DeviceContext& context,
                                                            const NormPairSpec& spec);

}  // namespace dtnn

#endif  // DTNN_KERNELS_BATCH_NORM_NORM_PAIR_GPU_H_
