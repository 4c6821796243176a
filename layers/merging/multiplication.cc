#include "layers/merging/multiplication.h"

#include <utility>

#include "kernels/channel_scale/channel_scale.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

class MultiplicationOp : public LayerOp {
 public:
  explicit MultiplicationOp(std::unique_ptr<ChannelScale> scale) : scale_(std::move(scale)) {}

  LayerOpTraits traits() const override { return {.backward_reads_input = true}; }

  absl::Status Forward(const ForwardArgs& args) override {
    return scale_->Multiply(args.inputs[0], args.inputs[1], args.output, /*accumulate=*/false);
  }

  absl::Status Backward(const BackwardArgs& args) override {
    const Tensor &image = args.inputs[0], &factors = args.inputs[1];
    if (!args.dx[0].empty()) {
      DTNN_RETURN_IF_ERROR(scale_->Multiply(args.dy, factors, args.dx[0], args.accumulate[0]));
    }
    if (args.dx[1].empty()) return absl::OkStatus();
    return scale_->Reduce(image, args.dy, args.dx[1], args.accumulate[1]);
  }

 private:
  std::unique_ptr<ChannelScale> scale_;
};

}  // namespace

absl::StatusOr<Shape> MultiplicationLayer::OutputShape(std::span<const Shape> inputs,
                                                       TensorFormat format) const {
  if (inputs.size() != 2) {
    return InvalidArgument("needs two paths, an image and its factors, but has ", inputs.size());
  }
  if (inputs[0].rank() == 3) {
    const Shape factors = SampleShape({1, 1, ExtentsOf(inputs[0], format).channels}, format);
    if (inputs[1] == factors) return inputs[0];
  }
  return InvalidArgument(
      "multiplies an image by a factor for each channel, an image of one pixel, "
      "but has ",
      inputs[0].ToString(), " and ", inputs[1].ToString());
}

absl::StatusOr<std::unique_ptr<LayerOp>> MultiplicationLayer::Bind(
    const BindContext& context) const {
  DTNN_ASSIGN_OR_RETURN(
      std::unique_ptr<ChannelScale> scale,
      CreateChannelScale(*context.device, {.format = context.format, .dtype = context.dtype}));
  return std::make_unique<MultiplicationOp>(std::move(scale));
}

}  // namespace dtnn
