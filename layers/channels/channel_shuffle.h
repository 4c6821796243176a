// Channels dealt like cards from groups that lie one after the other, so that the next layer sees
// channels of all groups beside each other (Zhang et al., "ShuffleNet", CVPR 2018): PyTorch's
// channel_shuffle and ChannelShuffle. Formula in kernels/channel_pick/channel_pick.h.

#ifndef DTNN_LAYERS_CHANNELS_CHANNEL_SHUFFLE_H_
#define DTNN_LAYERS_CHANNELS_CHANNEL_SHUFFLE_H_

#include "layers/base/layer.h"

namespace dtnn {

class ChannelShuffleLayer : public Layer {
 public:
  // `groups`: a divisor of the number of channels.
  explicit ChannelShuffleLayer(int64_t groups) : groups_(groups) {}
  static std::shared_ptr<const Layer> FromAttributes(AttributeReader& read);

  std::string_view type_name() const override { return "ChannelShuffle"; }
  Attributes attributes() const override { return {{"groups", groups_}}; }
  absl::StatusOr<Shape> OutputShape(std::span<const Shape> inputs,
                                    TensorFormat format) const override;
  absl::StatusOr<std::unique_ptr<LayerOp>> Bind(const BindContext& context) const override;
  std::string SettingsCell() const override;

 private:
  int64_t groups_;
};

}  // namespace dtnn

#endif  // DTNN_LAYERS_CHANNELS_CHANNEL_SHUFFLE_H_
