#include "layers/channels/channel_shuffle.h"

#include "layers/channels/pick_op.h"
#include "tensor/errors.h"

namespace dtnn {

std::shared_ptr<const Layer> ChannelShuffleLayer::FromAttributes(AttributeReader& read) {
  return std::make_shared<ChannelShuffleLayer>(read.Int("groups"));
}

absl::StatusOr<Shape> ChannelShuffleLayer::OutputShape(std::span<const Shape> inputs,
                                                       TensorFormat format) const {
  return PickedShape(inputs, {.count = kAllChannels, .groups = groups_}, format);
}

absl::StatusOr<std::unique_ptr<LayerOp>> ChannelShuffleLayer::Bind(
    const BindContext& context) const {
  return BindChannelPick(context, {.count = kAllChannels, .groups = groups_});
}

std::string ChannelShuffleLayer::SettingsCell() const { return StrCat("groups=", groups_); }

}  // namespace dtnn
