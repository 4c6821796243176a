// The GPU's implementation of Bias: forward a thread per element; backward each channel is summed
// by up to 128 threads over interleaved positions, whose sums are then added in order, so that the
// result does not depend on scheduling.

#ifndef DTNN_KERNELS_BIAS_BIAS_GPU_H_
#define DTNN_KERNELS_BIAS_BIAS_GPU_H_

#include <memory>

#include "absl/status/statusor.h"
#include "kernels/bias/bias.h"

namespace dtnn {

absl::StatusOr<std::unique_ptr<Bias>> CreateBiasGpu(DeviceContext& context, const BiasSpec& spec);

}  // namespace dtnn

#endif  // DTNN_KERNELS_BIAS_BIAS_GPU_H_
