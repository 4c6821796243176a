#include "layers/channels/group_softmax.h"

#include <utility>

#include "kernels/channel_softmax/channel_softmax.h"
#include "layers/base/input_check.h"
#include "layers/base/softmax_op.h"
#include "tensor/errors.h"

namespace dtnn {

std::shared_ptr<const Layer> GroupSoftmaxLayer::FromAttributes(AttributeReader& read) {
  return std::make_shared<GroupSoftmaxLayer>(read.Int("groups"));
}

absl::StatusOr<Shape> GroupSoftmaxLayer::OutputShape(std::span<const Shape> inputs,
                                                     TensorFormat format) const {
  DTNN_RETURN_IF_ERROR(ExpectOneImage(inputs));
  const int64_t channels = ExtentsOf(inputs[0], format).channels;
  if (groups_ >= 1 && channels % groups_ == 0) return inputs[0];
  return InvalidArgument("groups is ", groups_, ", expected a number that divides ", channels,
                         " channels evenly");
}

absl::StatusOr<std::unique_ptr<LayerOp>> GroupSoftmaxLayer::Bind(const BindContext& context) const {
  DTNN_ASSIGN_OR_RETURN(
      std::unique_ptr<ChannelSoftmax> softmax,
      CreateChannelSoftmax(*context.device,
                           {.channels = ExtentsOf(context.output, context.format).channels,
                            .format = context.format,
                            .dtype = context.dtype,
                            .groups = groups_,
                            .narrow_result = true}));
  return std::make_unique<SoftmaxOp<ChannelSoftmax>>(std::move(softmax));
}

std::string GroupSoftmaxLayer::SettingsCell() const { return StrCat("groups ", groups_); }

}  // namespace dtnn
