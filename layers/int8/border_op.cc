#include "layers/int8/border_op.h"

#include <utility>

#include "kernels/int8/quantize_tensor.h"
#include "tensor/rounding.h"
#include "tensor/status_macros.h"

namespace dtnn {
namespace {

class Int8BorderOp : public LayerOp {
 public:
  Int8BorderOp(std::unique_ptr<LayerOp> op, const BindContext& context, const Int8Values& values)
      : op_(std::move(op)), values_(values), inputs_(values.inputs.size()) {
    traits_ = op_->traits();
    own_bytes_ = RoundUp(traits_.workspace_bytes, Buffer::kAlignment);
    traits_.is_view = traits_.forward_in_place = traits_.joins_channels = false;
    traits_.forward_over_addend = false;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      // The last one may be an addend, which has the output's shape.
      const Shape& shape = i < context.inputs.size() ? context.inputs[i] : context.output;
      if (values_.inputs[i]) float_bytes_ += BytesOf(shape, context.batch);
    }
    if (values_.output) float_bytes_ += BytesOf(context.output, context.batch);
  }

  LayerOpTraits traits() const override {
    LayerOpTraits traits = traits_;
    traits.workspace_bytes = own_bytes_;
    traits.kept_bytes = KeptOffset() + float_bytes_;
    return traits;
  }
  std::string Algorithms() const override { return op_->Algorithms(); }

  // What is float32 for a moment lies behind what the op keeps: a workspace has no tensors.
  absl::Status Keep(std::shared_ptr<Buffer> memory) override {
    memory_ = memory;
    return traits_.kept_bytes > 0 ? op_->Keep(std::move(memory)) : absl::OkStatus();
  }

  absl::Status Forward(const ForwardArgs& args) override {
    ForwardArgs inner = args;
    size_t offset = KeptOffset();
    const auto floats = [&](const Tensor& like) {
      const Tensor view = Tensor::View(memory_, offset, DType::kFloat32, like.shape());
      offset += RoundUp(size_t(like.num_elements()) * sizeof(float), Buffer::kAlignment);
      return view;
    };
    for (size_t i = 0; i < inputs_.size(); ++i) {
      inputs_[i] = args.inputs[i];
      if (!values_.inputs[i]) continue;
      inputs_[i] = floats(args.inputs[i]);
      DequantizeTensor(args.inputs[i], inputs_[i], *values_.inputs[i]);
    }
    inner.inputs = inputs_;
    if (values_.output) inner.output = floats(args.output);
    DTNN_RETURN_IF_ERROR(op_->Forward(inner));
    if (!values_.output || QuantizeTensor(inner.output, args.output, *values_.output)) {
      return absl::OkStatus();
    }
    return absl::InvalidArgumentError("the output contains NaN, which has no byte");
  }
  absl::Status Backward(const BackwardArgs&) override {
    return absl::FailedPreconditionError("8 bits are for inference");
  }

 private:
  static size_t BytesOf(const Shape& sample, int64_t batch) {
    return RoundUp(size_t(sample.NumElements() * batch) * sizeof(float), Buffer::kAlignment);
  }
  size_t KeptOffset() const { return RoundUp(traits_.kept_bytes, Buffer::kAlignment); }

  std::unique_ptr<LayerOp> op_;
  Int8Values values_;
  LayerOpTraits traits_;
  size_t own_bytes_ = 0, float_bytes_ = 0;
  std::vector<Tensor> inputs_;
  std::shared_ptr<Buffer> memory_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<LayerOp>> CreateInt8BorderOp(std::unique_ptr<LayerOp> op,
                                                            const BindContext& context,
                                                            const Int8Values& values) {
  return std::make_unique<Int8BorderOp>(std::move(op), context, values);
}

}  // namespace dtnn
