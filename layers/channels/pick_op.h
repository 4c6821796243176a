// The op of layers that pick channels of an image.

#ifndef DTNN_LAYERS_CHANNELS_PICK_OP_H_
#define DTNN_LAYERS_CHANNELS_PICK_OP_H_

#include <cstdint>
#include <memory>
#include <span>

#include "absl/status/statusor.h"
#include "kernels/channel_pick/channel_pick.h"
#include "layers/base/layer.h"

namespace dtnn {

// As `count`: as many channels as the image has.
inline constexpr int64_t kAllChannels = -1;

// The layer sets begin, count and groups of `spec`; the rest follows from the image.
// InvalidArgument where the image does not have these channels.
absl::StatusOr<Shape> PickedShape(std::span<const Shape> inputs, ChannelPickSpec spec,
                                  TensorFormat format);
absl::StatusOr<std::unique_ptr<LayerOp>> BindChannelPick(const BindContext& context,
                                                         ChannelPickSpec spec);

}  // namespace dtnn

#endif  // DTNN_LAYERS_CHANNELS_PICK_OP_H_
