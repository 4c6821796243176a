// The GPU's implementation of ChannelPick: a thread per element that is written.

#ifndef DTNN_KERNELS_CHANNEL_PICK_CHANNEL_PICK_GPU_H_
#define DTNN_KERNELS_CHANNEL_PICK_CHANNEL_PICK_GPU_H_

#include <memory>

#include "absl/status/statusor.h"
#include "kernels/channel_pick/channel_pick.h"

namespace dtnn {

absl::StatusOr<std::unique_ptr<ChannelPick>> CreateChannelPickGpu(DeviceContext& context,
                                                                  const ChannelPickSpec& spec);

}  // namespace dtnn

#endif  // DTNN_KERNELS_CHANNEL_PICK_CHANNEL_PICK_GPU_H_
