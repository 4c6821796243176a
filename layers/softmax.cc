#include "layers/softmax.h"

#include <utility>

#include "kernels/channel_softmax/channel_softmax.h"
#include "kernels/softmax/softmax.h"
#include "layers/base/input_check.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

// For either primitive.
template <class Primitive>
class SoftmaxOp : public LayerOp {
 public:
  explicit SoftmaxOp(std::unique_ptr<Primitive> softmax) : softmax_(std::move(softmax)) {}

  LayerOpTraits traits() const override {
    return {.backward_reads_output = true, .forward_in_place = true, .backward_in_place = 0};
  }
  absl::Status Forward(const ForwardArgs& args) override {
    return softmax_->Forward(args.inputs[0], args.output);
  }
  absl::Status Backward(const BackwardArgs& args) override {
    if (args.dx[0].empty()) return absl::OkStatus();
    return softmax_->Backward(args.output, args.dy, args.dx[0], args.accumulate[0]);
  }

 private:
  std::unique_ptr<Primitive> softmax_;
};

}  // namespace

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
                              .dtype = context.dtype}));
    return std::make_unique<SoftmaxOp<ChannelSoftmax>>(std::move(softmax));
  }
  DTNN_ASSIGN_OR_RETURN(
      std::unique_ptr<Softmax> softmax,
      CreateSoftmax(*context.device,
                    {.rows = context.batch, .columns = context.output[0], .dtype = context.dtype}));
  return std::make_unique<SoftmaxOp<Softmax>>(std::move(softmax));
}

}  // namespace dtnn
