#include "layers/channels/pick_op.h"

#include <utility>

#include "layers/base/input_check.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

class ChannelPickOp : public LayerOp {
 public:
  explicit ChannelPickOp(std::unique_ptr<ChannelPick> pick) : pick_(std::move(pick)) {}

  LayerOpTraits traits() const override { return {}; }
  absl::Status Forward(const ForwardArgs& args) override {
    return pick_->Forward(args.inputs[0], args.output);
  }
  absl::Status Backward(const BackwardArgs& args) override {
    if (args.dx[0].empty()) return absl::OkStatus();
    return pick_->Backward(args.dy, args.dx[0], args.accumulate[0]);
  }

 private:
  std::unique_ptr<ChannelPick> pick_;
};

ChannelPickSpec Of(ChannelPickSpec spec, const Shape& image, TensorFormat format) {
  spec.channels = ExtentsOf(image, format).channels;
  spec.format = format;
  if (spec.count == kAllChannels) spec.count = spec.channels;
  return spec;
}

}  // namespace

absl::StatusOr<Shape> PickedShape(std::span<const Shape> inputs, ChannelPickSpec spec,
                                  TensorFormat format) {
  DTNN_RETURN_IF_ERROR(ExpectOneImage(inputs));
  spec = Of(spec, inputs[0], format);
  DTNN_RETURN_IF_ERROR(spec.Validate());
  ImageExtents image = ExtentsOf(inputs[0], format);
  image.channels = spec.count;
  return SampleShape(image, format);
}

absl::StatusOr<std::unique_ptr<LayerOp>> BindChannelPick(const BindContext& context,
                                                         ChannelPickSpec spec) {
  spec = Of(spec, context.inputs[0], context.format);
  spec.dtype = context.dtype;
  DTNN_ASSIGN_OR_RETURN(std::unique_ptr<ChannelPick> pick,
                        CreateChannelPick(*context.device, spec));
  return std::make_unique<ChannelPickOp>(std::move(pick));
}

}  // namespace dtnn
