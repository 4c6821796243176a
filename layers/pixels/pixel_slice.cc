#include "layers/pixels/pixel_slice.h"

#include <utility>

#include "kernels/channel_pick/channel_pick.h"
#include "layers/base/input_check.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

// Pixels are the channels of other images, of the channels' elements: those of NHWC are planes, and
// those of NCHW stand side by side.
TensorFormat Other(TensorFormat format) {
  return format == TensorFormat::kNHWC ? TensorFormat::kNCHW : TensorFormat::kNHWC;
}

class PixelSliceOp : public LayerOp {
 public:
  PixelSliceOp(std::unique_ptr<ChannelPick> pick, int64_t channels, TensorFormat format)
      : pick_(std::move(pick)), channels_(channels), format_(format) {}

  LayerOpTraits traits() const override { return {.needs_dense = true}; }
  absl::Status Forward(const ForwardArgs& args) override {
    return pick_->Forward(Turned(args.inputs[0]), Turned(args.output));
  }
  absl::Status Backward(const BackwardArgs& args) override {
    if (args.dx[0].empty()) return absl::OkStatus();
    return pick_->Backward(Turned(args.dy), Turned(args.dx[0]), args.accumulate[0]);
  }

 private:
  Tensor Turned(const Tensor& of) const {
    const int64_t pixels = of.shape().DropFirst().NumElements() / channels_;
    const Shape sample = SampleShape({channels_, 1, pixels}, Other(format_));
    return of.Reshaped(sample.Prepend(of.shape()[0]));
  }

  std::unique_ptr<ChannelPick> pick_;
  int64_t channels_;
  TensorFormat format_;
};

}  // namespace

std::shared_ptr<const Layer> PixelSliceLayer::FromAttributes(AttributeReader& read) {
  const int64_t begin = read.Int("begin");
  return std::make_shared<PixelSliceLayer>(begin, read.Int("count"));
}

absl::StatusOr<Shape> PixelSliceLayer::OutputShape(std::span<const Shape> inputs,
                                                   TensorFormat format) const {
  DTNN_RETURN_IF_ERROR(ExpectOneImage(inputs));
  const ImageExtents image = ExtentsOf(inputs[0], format);
  const int64_t pixels = image.height * image.width;
  if (begin_ < 0 || begin_ >= pixels || count_ < 1 || count_ > pixels - begin_) {
    return InvalidArgument("takes ", count_, " pixels from pixel ", begin_, " on of an image of ",
                           pixels);
  }
  return SampleShape({1, count_, image.channels}, format);
}

absl::StatusOr<std::unique_ptr<LayerOp>> PixelSliceLayer::Bind(const BindContext& context) const {
  const ImageExtents image = ExtentsOf(context.inputs[0], context.format);
  DTNN_ASSIGN_OR_RETURN(std::unique_ptr<ChannelPick> pick,
                        CreateChannelPick(*context.device, {.channels = image.height * image.width,
                                                            .begin = begin_,
                                                            .count = count_,
                                                            .format = Other(context.format),
                                                            .dtype = context.dtype}));
  return std::make_unique<PixelSliceOp>(std::move(pick), image.channels, context.format);
}

std::string PixelSliceLayer::SettingsCell() const {
  return count_ == 1 ? StrCat("pixel ", begin_)
                     : StrCat("pixels ", begin_, " to ", begin_ + count_ - 1);
}

}  // namespace dtnn
