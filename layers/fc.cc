#include "layers/fc.h"

#include <algorithm>

#include "kernels/gemm/gemm.h"
#include "layers/base/input_check.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

class FcOp : public LayerOp {
 public:
  static absl::StatusOr<std::unique_ptr<LayerOp>> Create(const BindContext& context,
                                                         bool with_bias) {
    const int64_t batch = context.batch, in = context.inputs[0][0], out = context.output[0];
    auto op = std::make_unique<FcOp>();
    op->with_bias_ = with_bias;
    op->bias_gradient_ = with_bias && context.bias_gradient;
    op->frozen_ = context.frozen;
    GemmSpec forward{.m = batch,
                     .n = out,
                     .k = in,
                     .dtype = context.dtype,
                     .tf32 = context.tf32,
                     .epilogue = {}};
    forward.epilogue = {.bias = with_bias, .relu = context.fuse_relu};
    DTNN_ASSIGN_OR_RETURN(op->forward_, CreateGemm(*context.device, forward));
    if (!context.training || !context.backward) return op;
    GemmSpec data{.m = batch,
                  .n = in,
                  .k = out,
                  .transpose_b = true,
                  .dtype = context.dtype,
                  .tf32 = context.tf32,
                  .epilogue = {}};
    DTNN_ASSIGN_OR_RETURN(op->backward_data_, CreateGemm(*context.device, data));
    data.accumulate = true;
    DTNN_ASSIGN_OR_RETURN(op->accumulate_data_, CreateGemm(*context.device, data));
    if (context.frozen) return op;
    GemmSpec filter{.m = in,
                    .n = out,
                    .k = batch,
                    .transpose_a = true,
                    .dtype = context.dtype,
                    .wide_result = true,
                    .tf32 = context.tf32,
                    .epilogue = {},
                    .column_sums = op->bias_gradient_};
    DTNN_ASSIGN_OR_RETURN(op->backward_filter_, CreateGemm(*context.device, filter));
    return op;
  }

  LayerOpTraits traits() const override {
    size_t workspace = 0;
    for (const auto* gemm : {&forward_, &backward_filter_, &backward_data_, &accumulate_data_}) {
      if (*gemm != nullptr) workspace = std::max(workspace, (*gemm)->workspace_bytes());
    }
    return {.backward_reads_input = !frozen_, .workspace_bytes = workspace};
  }

  absl::Status Forward(const ForwardArgs& args) override {
    EpilogueOperands operands;
    if (with_bias_) operands.bias = args.parameters[1].tensor;
    return forward_->Run(args.inputs[0], args.parameters[0].tensor, args.output, operands,
                         args.workspace);
  }

  absl::Status Backward(const BackwardArgs& args) override {
    if (!frozen_) {
      EpilogueOperands operands;
      if (bias_gradient_) operands.column_sums = args.gradients[1];
      DTNN_RETURN_IF_ERROR(backward_filter_->Run(args.inputs[0], args.dy, args.gradients[0],
                                                 operands, args.workspace));
    }
    if (args.dx[0].empty()) return absl::OkStatus();
    Gemm& data = args.accumulate[0] ? *accumulate_data_ : *backward_data_;
    return data.Run(args.dy, args.parameters[0].tensor, args.dx[0], {}, args.workspace);
  }

 private:
  bool with_bias_ = true, bias_gradient_ = true, frozen_ = false;
  std::unique_ptr<Gemm> forward_, backward_filter_, backward_data_, accumulate_data_;
};

}  // namespace

Attributes FcLayer::attributes() const {
  return {{"outputs", outputs_},
          {"bias", int64_t{options_.bias}},
          {"initializer", std::string(Name(options_.initializer))},
          {"image", int64_t{0}}};  // whether its input is one (image_fc.h)
}

absl::StatusOr<Shape> FcLayer::OutputShape(std::span<const Shape> inputs,
                                           TensorFormat /*format*/) const {
  DTNN_RETURN_IF_ERROR(ExpectOneVector(inputs));
  if (outputs_ < 1) {
    return InvalidArgument("needs at least one output, not ", outputs_);
  }
  return Shape{outputs_};
}

std::vector<ParameterSpec> FcLayer::Parameters(std::span<const Shape> inputs,
                                               TensorFormat /*format*/) const {
  const int64_t in = inputs[0][0];
  std::vector<ParameterSpec> parameters = {{.name = "weights",
                                            .shape = Shape{in, outputs_},
                                            .initializer = {options_.initializer, in, outputs_},
                                            .layout = ParameterLayout::kFeatureRows}};
  if (options_.bias)
    parameters.push_back({.name = "biases", .shape = Shape{outputs_}, .initializer = {}});
  return parameters;
}

absl::StatusOr<std::unique_ptr<LayerOp>> FcLayer::Bind(const BindContext& context) const {
  return FcOp::Create(context, options_.bias);
}

}  // namespace dtnn
