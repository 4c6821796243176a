// The GPU's implementation of ChannelSoftmax: a thread per group of channels of a pixel.

#ifndef DTNN_KERNELS_CHANNEL_SOFTMAX_CHANNEL_SOFTMAX_GPU_H_
#define DTNN_KERNELS_CHANNEL_SOFTMAX_CHANNEL_SOFTMAX_GPU_H_

#include <memory>

#include "absl/status/statusor.h"
#include "kernels/channel_softmax/channel_softmax.h"

namespace dtnn {

absl::StatusOr<std::unique_ptr<ChannelSoftmax>> CreateChannelSoftmaxGpu(
    DeviceContext& context, const ChannelSoftmaxSpec& spec);

}  // namespace dtnn

#endif  // DTNN_KERNELS_CHANNEL_SOFTMAX_CHANNEL_SOFTMAX_GPU_H_
