#include "layers/merging/weighted_sum.h"

#include <utility>

#include "kernels/pixel_product/pixel_product.h"
#include "layers/base/saturating.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

class WeightedSumOp : public LayerOp {
 public:
  explicit WeightedSumOp(std::unique_ptr<PixelProduct> product) : product_(std::move(product)) {}

  LayerOpTraits traits() const override {
    return {.backward_reads_input = true, .workspace_bytes = product_->workspace_bytes()};
  }
  absl::Status Forward(const ForwardArgs& args) override {
    return product_->Weigh(args.inputs[0], args.inputs[1], args.output, /*accumulate=*/false,
                           args.workspace);
  }
  absl::Status Backward(const BackwardArgs& args) override {
    const Tensor &weights = args.inputs[0], &values = args.inputs[1];
    if (!args.dx[0].empty()) {
      DTNN_RETURN_IF_ERROR(
          product_->Scores(args.dy, values, args.dx[0], args.accumulate[0], args.workspace));
    }
    if (args.dx[1].empty()) return absl::OkStatus();
    return product_->Gather(weights, args.dy, args.dx[1], args.accumulate[1], args.workspace);
  }

 private:
  std::unique_ptr<PixelProduct> product_;
};

}  // namespace

std::shared_ptr<const Layer> WeightedSumLayer::FromAttributes(AttributeReader& read) {
  return std::make_shared<WeightedSumLayer>(read.Int("heads"));
}

absl::StatusOr<Shape> WeightedSumLayer::OutputShape(std::span<const Shape> inputs,
                                                    TensorFormat format) const {
  if (inputs.size() != 2) {
    return InvalidArgument("needs two paths, weights and values, but has ", inputs.size());
  }
  if (inputs[0].rank() == 3 && inputs[1].rank() == 3) {
    const ImageExtents s = ExtentsOf(inputs[0], format), y = ExtentsOf(inputs[1], format);
    if (heads_ >= 1 && y.channels % heads_ == 0 && s.channels == heads_ * y.height * y.width) {
      return SampleShape({s.height, s.width, y.channels}, format);
    }
  }
  return InvalidArgument("takes images, the first with a channel for each pixel of the second in ",
                         heads_, " heads, which divide the channels of the second evenly, but has ",
                         inputs[0].ToString(), " and ", inputs[1].ToString());
}

absl::StatusOr<std::unique_ptr<LayerOp>> WeightedSumLayer::Bind(const BindContext& context) const {
  DTNN_ASSIGN_OR_RETURN(
      std::unique_ptr<PixelProduct> product,
      CreatePixelProduct(*context.device, {.x = ExtentsOf(context.output, context.format),
                                           .y = ExtentsOf(context.inputs[1], context.format),
                                           .heads = heads_,
                                           .format = context.format,
                                           .dtype = context.dtype}));
  return std::make_unique<WeightedSumOp>(std::move(product));
}

int64_t WeightedSumLayer::MultiplyAdds(std::span<const Shape> inputs, TensorFormat format) const {
  const ImageExtents weights = ExtentsOf(inputs[0], format);
  return SaturatingProduct({weights.height, weights.width, inputs[1].NumElements()});
}

std::string WeightedSumLayer::SettingsCell() const { return StrCat("heads ", heads_); }

}  // namespace dtnn
