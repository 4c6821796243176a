#include "layers/input.h"

#include "tensor/errors.h"

namespace dtnn {
namespace {

class InputOp : public LayerOp {
 public:
  LayerOpTraits traits() const override { return {}; }
  absl::Status Forward(const ForwardArgs&) override { return absl::OkStatus(); }
  absl::Status Backward(const BackwardArgs&) override { return absl::OkStatus(); }
};

}  // namespace

std::shared_ptr<const Layer> InputLayer::FromAttributes(AttributeReader& read) {
  ImageExtents sample;
  sample.height = read.Int("height");
  sample.width = read.Int("width");
  sample.channels = read.Int("channels");
  return std::make_shared<InputLayer>(sample);
}

Attributes InputLayer::attributes() const {
  return {{"height", sample_.height}, {"width", sample_.width}, {"channels", sample_.channels}};
}

absl::StatusOr<Shape> InputLayer::OutputShape(std::span<const Shape> inputs,
                                              TensorFormat format) const {
  if (!inputs.empty()) return absl::InvalidArgumentError("must come first and only once");
  if (sample_.height < 1 || sample_.width < 1 || sample_.channels < 1) {
    return InvalidArgument("a sample needs positive extents, not ", ToString(sample_));
  }
  return SampleShape(sample_, format);
}

absl::StatusOr<std::unique_ptr<LayerOp>> InputLayer::Bind(const BindContext& /*context*/) const {
  return std::make_unique<InputOp>();
}

}  // namespace dtnn
