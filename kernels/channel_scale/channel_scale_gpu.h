// The GPU's implementation of ChannelScale: products by one thread per element, sums by one warp
// per channel of an image, in an order that does not depend on scheduling.

#ifndef DTNN_KERNELS_CHANNEL_SCALE_CHANNEL_SCALE_GPU_H_
#define DTNN_KERNELS_CHANNEL_SCALE_CHANNEL_SCALE_GPU_H_

#include <memory>

#include "absl/status/statusor.h"
#include "kernels/channel_scale/channel_scale.h"

namespace dtnn {

absl::StatusOr<std::unique_ptr<ChannelScale>> CreateChannelScaleGpu(DeviceContext& context,
                                                                    const ChannelScaleSpec& spec);

}  // namespace dtnn

#endif  // DTNN_KERNELS_CHANNEL_SCALE_CHANNEL_SCALE_GPU_H_
