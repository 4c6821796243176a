#include "layers/channels/channel_slice.h"

#include "layers/channels/pick_op.h"
#include "tensor/errors.h"

namespace dtnn {

std::shared_ptr<const Layer> ChannelSliceLayer::FromAttributes(AttributeReader& read) {
  const int64_t begin = read.Int("begin");
  return std::make_shared<ChannelSliceLayer>(begin, read.Int("count"));
}

absl::StatusOr<Shape> ChannelSliceLayer::OutputShape(std::span<const Shape> inputs,
                                                     TensorFormat format) const {
  if (count_ < 1) return InvalidArgument("count is ", count_, ", expected at least 1");
  return PickedShape(inputs, {.begin = begin_, .count = count_}, format);
}

absl::StatusOr<std::unique_ptr<LayerOp>> ChannelSliceLayer::Bind(const BindContext& context) const {
  return BindChannelPick(context, {.begin = begin_, .count = count_});
}

std::string ChannelSliceLayer::SettingsCell() const {
  return StrCat("channels ", begin_, " to ", begin_ + count_ - 1);
}

}  // namespace dtnn
