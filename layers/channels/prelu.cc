#include "layers/channels/prelu.h"

#include <utility>

#include "kernels/prelu/prelu.h"
#include "layers/base/input_check.h"
#include "tensor/status_macros.h"

namespace dtnn {
namespace {

class PReluOp : public LayerOp {
 public:
  PReluOp(std::unique_ptr<PRelu> prelu, bool one_slope)
      : prelu_(std::move(prelu)), one_slope_(one_slope) {}

  LayerOpTraits traits() const override {
    return {.backward_reads_input = true, .forward_in_place = true, .needs_dense = one_slope_};
  }
  absl::Status Forward(const ForwardArgs& args) override {
    return prelu_->Forward(args.inputs[0], args.parameters[0].tensor, args.output);
  }
  absl::Status Backward(const BackwardArgs& args) override {
    if (!args.dx[0].empty()) {
      DTNN_RETURN_IF_ERROR(prelu_->Backward(args.inputs[0], args.parameters[0].tensor, args.dy,
                                            args.dx[0], args.accumulate[0]));
    }
    if (args.gradients.empty()) return absl::OkStatus();
    return prelu_->SlopeGradient(args.inputs[0], args.dy, args.gradients[0]);  // overwrites dy
  }

 private:
  std::unique_ptr<PRelu> prelu_;
  bool one_slope_;
};

}  // namespace

std::shared_ptr<const Layer> PReluLayer::FromAttributes(AttributeReader& read) {
  return std::make_shared<PReluLayer>(read.Switch("per_channel"));
}

int64_t PReluLayer::Slopes(const Shape& sample, TensorFormat format) const {
  if (!per_channel_) return 1;
  return sample.rank() == 1 ? sample[0] : ExtentsOf(sample, format).channels;
}

absl::StatusOr<Shape> PReluLayer::OutputShape(std::span<const Shape> inputs,
                                              TensorFormat /*format*/) const {
  DTNN_RETURN_IF_ERROR(ExpectOneInput(inputs));
  return inputs[0];
}

std::vector<ParameterSpec> PReluLayer::Parameters(std::span<const Shape> inputs,
                                                  TensorFormat format) const {
  const bool features = per_channel_ && inputs[0].rank() == 1;
  return {{.name = "slopes",
           .shape = {Slopes(inputs[0], format)},
           .initializer = {.kind = InitializerKind::kOnes, .times = 0.25},
           .layout = features ? ParameterLayout::kFeatures : ParameterLayout::kFixed}};
}

absl::StatusOr<std::unique_ptr<LayerOp>> PReluLayer::Bind(const BindContext& context) const {
  const int64_t slopes = Slopes(context.inputs[0], context.format);
  DTNN_ASSIGN_OR_RETURN(
      std::unique_ptr<PRelu> prelu,
      CreatePRelu(*context.device,
                  {.channels = slopes, .format = context.format, .dtype = context.dtype}));
  return std::make_unique<PReluOp>(std::move(prelu), /*one_slope=*/slopes == 1);
}

}  // namespace dtnn
