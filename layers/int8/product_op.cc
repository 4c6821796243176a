#include "layers/int8/product_op.h"

#include <algorithm>
#include <string>
#include <utility>

#include "kernels/int8/int8_conv2d.h"
#include "tensor/rounding.h"
#include "tensor/status_macros.h"

namespace dtnn {
namespace {

class Int8ProductOp : public LayerOp {
 public:
  Int8ProductOp(std::unique_ptr<Int8Conv2d> conv, const Int8Conv2dSpec& spec, bool connected,
                bool bias, const Layer* normalization)
      : conv_(std::move(conv)),
        spec_(spec),
        connected_(connected),
        bias_(bias),
        normalization_(normalization) {}

  LayerOpTraits traits() const override {
    return {.forward_over_addend = spec_.conv.epilogue.add,
            .needs_dense = connected_,
            .workspace_bytes = conv_->workspace_bytes(),
            .kept_bytes = FoldedOffset() + 2 * VectorBytes()};
  }
  std::string Algorithms() const override { return "int8 " + conv_->Algorithm(); }

  absl::Status Keep(std::shared_ptr<Buffer> memory) override {
    conv_->Keep(memory->data());
    const Shape vector = {spec_.conv.filters};
    scale_ = Tensor::View(memory, FoldedOffset(), DType::kFloat32, vector);
    shift_ = Tensor::View(memory, FoldedOffset() + VectorBytes(), DType::kFloat32, vector);
    return absl::OkStatus();
  }

  absl::Status Forward(const ForwardArgs& args) override {
    DTNN_RETURN_IF_ERROR(RenewParameters(args.parameters));
    return conv_->Forward(AsImages(args.inputs[0]),
                          spec_.conv.epilogue.add ? args.inputs.back() : Tensor(),
                          AsImages(args.output), args.workspace);
  }
  absl::Status Backward(const BackwardArgs&) override {
    return absl::FailedPreconditionError("8 bits are for inference");
  }

 private:
  // What a fully connected layer reads and writes, as images of one pixel.
  Tensor AsImages(const Tensor& x) const {
    if (!connected_) return x;
    const int64_t n = x.shape()[0];
    return x.Reshaped(Shape{n, 1, 1, x.num_elements() / n});
  }
  size_t FoldedOffset() const { return RoundUp(conv_->kept_bytes(), Buffer::kAlignment); }
  size_t VectorBytes() const {
    return RoundUp(size_t(spec_.conv.filters) * sizeof(float), Buffer::kAlignment);
  }

  absl::Status RenewParameters(std::span<const ParameterView> parameters) {
    new_versions_.clear();
    for (const ParameterView& parameter : parameters) new_versions_.push_back(parameter.version);
    const bool known = std::ranges::find(new_versions_, uint64_t{0}) == new_versions_.end();
    if (known && versions_ == new_versions_) return absl::OkStatus();
    Int8Conv2dParameters all = {.filter = parameters[0].tensor.data<float>()};
    const Tensor bias = bias_ ? parameters[1].tensor : Tensor();
    if (normalization_ != nullptr) {
      DTNN_RETURN_IF_ERROR(
          normalization_->ScaleAndShift(parameters.subspan(bias_ ? 2 : 1), bias, scale_, shift_));
      all.scale = scale_.data<float>();
      all.bias = shift_.data<float>();
    } else if (bias_) {
      all.bias = bias.data<float>();
    }
    DTNN_RETURN_IF_ERROR(conv_->SetParameters(all));
    std::swap(versions_, new_versions_);
    return absl::OkStatus();
  }

  std::unique_ptr<Int8Conv2d> conv_;
  Int8Conv2dSpec spec_;
  bool connected_, bias_;
  const Layer* normalization_;  // null: none
  std::vector<uint64_t> versions_, new_versions_;
  Tensor scale_, shift_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<LayerOp>> CreateInt8ProductOp(const Conv2dSpec& conv,
                                                             const BindContext& context,
                                                             const Int8Values& values) {
  Int8Conv2dSpec spec = {.conv = conv, .input = *values.inputs[0], .output = values.output};
  const bool bias = conv.epilogue.bias;
  spec.conv.epilogue = {.bias = bias || context.fuse_normalization != nullptr,
                        .add = context.fuse_addition,
                        .relu = context.fuse_relu};
  if (context.fuse_addition) spec.addend = *values.inputs.back();
  DTNN_ASSIGN_OR_RETURN(std::unique_ptr<Int8Conv2d> made, Int8Conv2d::Create(spec));
  return std::make_unique<Int8ProductOp>(std::move(made), spec, context.output.rank() == 1, bias,
                                         context.fuse_normalization);
}

}  // namespace dtnn
