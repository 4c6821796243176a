#include "layers/pixels/position_embedding.h"

#include <utility>

#include "kernels/add/add.h"
#include "kernels/bias/bias.h"
#include "layers/base/input_check.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

// A bias of each element.
class PositionEmbeddingOp : public LayerOp {
 public:
  PositionEmbeddingOp(std::unique_ptr<Bias> bias, std::unique_ptr<Add> add)
      : bias_(std::move(bias)), add_(std::move(add)) {}

  LayerOpTraits traits() const override {
    return {.forward_in_place = true, .backward_in_place = 0, .needs_dense = true};
  }
  absl::Status Forward(const ForwardArgs& args) override {
    return bias_->Forward(Rows(args.inputs[0]), args.parameters[0].tensor, Rows(args.output));
  }
  absl::Status Backward(const BackwardArgs& args) override {
    if (!args.gradients.empty()) {
      DTNN_RETURN_IF_ERROR(bias_->Backward(Rows(args.dy), args.gradients[0], /*accumulate=*/false));
    }
    if (args.dx[0].empty()) return absl::OkStatus();
    return add_->Run({&args.dy, 1}, args.dx[0], args.accumulate[0]);
  }

 private:
  static Tensor Rows(const Tensor& of) {
    return of.Reshaped({of.shape()[0], of.shape().DropFirst().NumElements()});
  }

  std::unique_ptr<Bias> bias_;
  std::unique_ptr<Add> add_;
};

}  // namespace

absl::StatusOr<Shape> PositionEmbeddingLayer::OutputShape(std::span<const Shape> inputs,
                                                          TensorFormat /*format*/) const {
  DTNN_RETURN_IF_ERROR(ExpectOneImage(inputs));
  return inputs[0];
}

std::vector<ParameterSpec> PositionEmbeddingLayer::Parameters(std::span<const Shape> inputs,
                                                              TensorFormat /*format*/) const {
  return {{.name = "embedding",
           .shape = {inputs[0].NumElements()},
           // The variance is 1 / 2500.
           .initializer = {.kind = InitializerKind::kLecunNormal, .fan_in = 2500},
           .layout = ParameterLayout::kFeatures}};
}

absl::StatusOr<std::unique_ptr<LayerOp>> PositionEmbeddingLayer::Bind(
    const BindContext& context) const {
  DTNN_ASSIGN_OR_RETURN(std::unique_ptr<Bias> bias,
                        CreateBias(*context.device, {.channels = context.inputs[0].NumElements(),
                                                     .dtype = context.dtype}));
  DTNN_ASSIGN_OR_RETURN(
      std::unique_ptr<Add> add,
      CreateAdd(*context.device, {.format = context.format, .dtype = context.dtype}));
  return std::make_unique<PositionEmbeddingOp>(std::move(bias), std::move(add));
}

}  // namespace dtnn
