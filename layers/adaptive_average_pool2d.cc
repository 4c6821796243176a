#include "layers/adaptive_average_pool2d.h"

#include <utility>

#include "layers/base/input_check.h"
#include "tensor/status_macros.h"

namespace dtnn {
namespace {

class AdaptiveAveragePool2dOp : public LayerOp {
 public:
  explicit AdaptiveAveragePool2dOp(std::unique_ptr<AdaptivePool> pool) : pool_(std::move(pool)) {}

  LayerOpTraits traits() const override { return {}; }
  absl::Status Forward(const ForwardArgs& args) override {
    return pool_->Forward(args.inputs[0], args.output);
  }
  absl::Status Backward(const BackwardArgs& args) override {
    if (args.dx[0].empty()) return absl::OkStatus();
    return pool_->Backward(args.dy, args.dx[0], args.accumulate[0]);
  }

 private:
  std::unique_ptr<AdaptivePool> pool_;
};

}  // namespace

std::shared_ptr<const Layer> AdaptiveAveragePool2dLayer::FromAttributes(AttributeReader& read) {
  return std::make_shared<AdaptiveAveragePool2dLayer>(read.TwoInts("output"));
}

Attributes AdaptiveAveragePool2dLayer::attributes() const {
  return {{"output", PairAttribute(output_)}};
}

AdaptivePoolSpec AdaptiveAveragePool2dLayer::Spec(const Shape& input, TensorFormat format) const {
  const ImageExtents image = ExtentsOf(input, format);
  AdaptivePoolSpec spec;
  spec.batch = 1;
  spec.height = image.height;
  spec.width = image.width;
  spec.channels = image.channels;
  spec.out_height = output_.vertical;
  spec.out_width = output_.horizontal;
  spec.format = format;
  return spec;
}

absl::StatusOr<Shape> AdaptiveAveragePool2dLayer::OutputShape(std::span<const Shape> inputs,
                                                              TensorFormat format) const {
  DTNN_RETURN_IF_ERROR(ExpectOneImage(inputs));
  const AdaptivePoolSpec spec = Spec(inputs[0], format);
  DTNN_RETURN_IF_ERROR(spec.Validate());
  return spec.OutputShape().DropFirst();
}

absl::StatusOr<std::unique_ptr<LayerOp>> AdaptiveAveragePool2dLayer::Bind(
    const BindContext& context) const {
  AdaptivePoolSpec spec = Spec(context.inputs[0], context.format);
  spec.batch = context.batch;
  spec.dtype = context.dtype;
  DTNN_ASSIGN_OR_RETURN(std::unique_ptr<AdaptivePool> pool,
                        CreateAdaptivePool(*context.device, spec));
  return std::make_unique<AdaptiveAveragePool2dOp>(std::move(pool));
}

std::string AdaptiveAveragePool2dLayer::WeightsCell(std::span<const Shape> /*inputs*/,
                                                    TensorFormat /*format*/) const {
  return Shape{output_.vertical, output_.horizontal}.ToString();
}

}  // namespace dtnn
