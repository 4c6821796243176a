#include "layers/softmax.h"

#include <utility>

#include "kernels/channel_softmax/channel_softmax.h"
#include "kernels/softmax/softmax.h"
#include "layers/base/input_check.h"
#include "layers/base/softmax_op.h"
#include "tensor/errors.h"

namespace dtnn {
absl::StatusOr<Shape> SoftmaxLayer::OutputShape(std::span<const Shape> inputs,
                                                TensorFormat /*format*/) const {
  DTNN_RETURN_IF_ERROR(ExpectOneInput(inputs));
  if (inputs[0].rank() == 3) return inputs[0];
  DTNN_RETURN_IF_ERROR(ExpectOneVector(inputs));
  return inputs[0];
}

absl::StatusOr<std::unique_ptr<LayerOp>> SoftmaxLayer::Bind(const BindContext& context) const {
  if (context.output.rank() == 3) {
    DTNN_ASSIGN_OR_RETURN(
        std::unique_ptr<ChannelSoftmax> softmax,
        CreateChannelSoftmax(*context.device,
                             {.channels = ExtentsOf(context.output, context.format).channels,
                              .format = context.format,
                              .dtype = context.dtype,
                              .narrow_result = !context.wide_output}));
    return std::make_unique<SoftmaxOp<ChannelSoftmax>>(std::move(softmax));
  }
  DTNN_ASSIGN_OR_RETURN(std::unique_ptr<Softmax> softmax,
                        CreateSoftmax(*context.device, {.rows = context.batch,
                                                        .columns = context.output[0],
                                                        .dtype = context.dtype,
                                                        .narrow_result = !context.wide_output}));
  return std::make_unique<SoftmaxOp<Softmax>>(std::move(softmax));
}

}  // namespace dtnn
