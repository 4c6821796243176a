#include "layers/merging/scores.h"

#include <cmath>
#include <utility>

#include "kernels/pixel_product/pixel_product.h"
#include "layers/base/saturating.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

class ScoresOp : public LayerOp {
 public:
  explicit ScoresOp(std::unique_ptr<PixelProduct> product) : product_(std::move(product)) {}

  LayerOpTraits traits() const override {
    return {.backward_reads_input = true, .workspace_bytes = product_->workspace_bytes()};
  }
  absl::Status Forward(const ForwardArgs& args) override {
    return product_->Scores(args.inputs[0], args.inputs[1], args.output, /*accumulate=*/false,
                            args.workspace);
  }
  absl::Status Backward(const BackwardArgs& args) override {
    const Tensor &queries = args.inputs[0], &keys = args.inputs[1];
    if (!args.dx[0].empty()) {
      DTNN_RETURN_IF_ERROR(
          product_->Weigh(args.dy, keys, args.dx[0], args.accumulate[0], args.workspace));
    }
    if (args.dx[1].empty()) return absl::OkStatus();
    return product_->Gather(args.dy, queries, args.dx[1], args.accumulate[1], args.workspace);
  }

 private:
  std::unique_ptr<PixelProduct> product_;
};

}  // namespace

std::shared_ptr<const Layer> ScoresLayer::FromAttributes(AttributeReader& read) {
  return std::make_shared<ScoresLayer>(
      ScoresOptions{.heads = read.Int("heads"), .factor = read.Real("factor")});
}

Attributes ScoresLayer::attributes() const {
  return {{"heads", options_.heads}, {"factor", options_.factor}};
}

absl::StatusOr<Shape> ScoresLayer::OutputShape(std::span<const Shape> inputs,
                                               TensorFormat format) const {
  if (inputs.size() != 2) {
    return InvalidArgument("needs two paths, queries and keys, but has ", inputs.size());
  }
  if (inputs[0].rank() == 3 && inputs[1].rank() == 3) {
    const ImageExtents x = ExtentsOf(inputs[0], format), y = ExtentsOf(inputs[1], format);
    if (x.channels == y.channels && options_.heads >= 1 && x.channels % options_.heads == 0) {
      if (!std::isfinite(options_.factor)) {
        return InvalidArgument("factor is ", options_.factor, ", expected a finite number");
      }
      return SampleShape({x.height, x.width, options_.heads * y.height * y.width}, format);
    }
  }
  return InvalidArgument("takes images of the same channels, which ", options_.heads,
                         " heads divide evenly, but has ", inputs[0].ToString(), " and ",
                         inputs[1].ToString());
}

absl::StatusOr<std::unique_ptr<LayerOp>> ScoresLayer::Bind(const BindContext& context) const {
  DTNN_ASSIGN_OR_RETURN(
      std::unique_ptr<PixelProduct> product,
      CreatePixelProduct(*context.device, {.x = ExtentsOf(context.inputs[0], context.format),
                                           .y = ExtentsOf(context.inputs[1], context.format),
                                           .heads = options_.heads,
                                           .factor = options_.factor,
                                           .format = context.format,
                                           .dtype = context.dtype}));
  return std::make_unique<ScoresOp>(std::move(product));
}

int64_t ScoresLayer::MultiplyAdds(std::span<const Shape> inputs, TensorFormat format) const {
  const ImageExtents keys = ExtentsOf(inputs[1], format);
  return SaturatingProduct({inputs[0].NumElements(), keys.height, keys.width});
}

std::string ScoresLayer::SettingsCell() const {
  return StrCat("heads ", options_.heads, ", factor ", options_.factor);
}

}  // namespace dtnn
