// Some of the channels of an image: `count` of them, from channel `begin` on. A block that splits
// its input, as PyTorch's chunk, has one at the head of each path.

#ifndef DTNN_LAYERS_CHANNELS_CHANNEL_SLICE_H_
#define DTNN_LAYERS_CHANNELS_CHANNEL_SLICE_H_

#include "layers/base/layer.h"

namespace dtnn {

class ChannelSliceLayer : public Layer {
 public:
  ChannelSliceLayer(int64_t begin, int64_t count) : begin_(begin), count_(count) {}
  static std::shared_ptr<const Layer> FromAttributes(AttributeReader& read);

  std::string_view type_name() const override { return "ChannelSlice"; }
  Attributes attributes() const override { return {{"begin", begin_}, {"count", count_}}; }
  absl::StatusOr<Shape> OutputShape(std::span<const Shape> inputs,
                                    TensorFormat format) const override;
  absl::StatusOr<std::unique_ptr<LayerOp>> Bind(const BindContext& context) const override;
  std::string SettingsCell() const override;

 private:
  int64_t begin_, count_;
};

}  // namespace dtnn

#endif  // DTNN_LAYERS_CHANNELS_CHANNEL_SLICE_H_
