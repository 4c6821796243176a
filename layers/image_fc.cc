#include "layers/image_fc.h"

#include <utility>

#include "layers/base/input_check.h"
#include "tensor/status_macros.h"

namespace dtnn {
namespace {

Shape Flat(std::span<const Shape> inputs) { return Shape{inputs[0].NumElements()}; }

// A batch of images without gaps as a matrix; nothing stays nothing.
Tensor FlatBatch(const Tensor& batch) {
  if (batch.empty()) return batch;
  return batch.Reshaped(Shape{batch.shape()[0], batch.shape().DropFirst().NumElements()});
}

class ImageFcOp : public LayerOp {
 public:
  explicit ImageFcOp(std::unique_ptr<LayerOp> fc) : fc_(std::move(fc)) {}

  LayerOpTraits traits() const override {
    LayerOpTraits traits = fc_->traits();
    traits.needs_dense = true;
    return traits;
  }

  absl::Status Forward(const ForwardArgs& args) override {
    ForwardArgs flat = args;
    const Tensor x = FlatBatch(args.inputs[0]);
    flat.inputs = {&x, 1};
    return fc_->Forward(flat);
  }

  absl::Status Backward(const BackwardArgs& args) override {
    BackwardArgs flat = args;
    const Tensor x = FlatBatch(args.inputs[0]), dx = FlatBatch(args.dx[0]);
    flat.inputs = {&x, 1};
    flat.dx = {&dx, 1};
    return fc_->Backward(flat);
  }

 private:
  std::unique_ptr<LayerOp> fc_;
};

}  // namespace

Attributes ImageFcLayer::attributes() const {
  Attributes attributes = FcLayer::attributes();
  for (auto& [name, value] : attributes) {
    if (name == "image") value = int64_t{1};
  }
  return attributes;
}

absl::StatusOr<Shape> ImageFcLayer::OutputShape(std::span<const Shape> inputs,
                                                TensorFormat format) const {
  DTNN_RETURN_IF_ERROR(ExpectOneImage(inputs));
  const Shape flat = Flat(inputs);
  return FcLayer::OutputShape({&flat, 1}, format);
}

std::vector<ParameterSpec> ImageFcLayer::Parameters(std::span<const Shape> inputs,
                                                    TensorFormat format) const {
  const Shape flat = Flat(inputs);
  return FcLayer::Parameters({&flat, 1}, format);
}

absl::StatusOr<std::unique_ptr<LayerOp>> ImageFcLayer::Bind(const BindContext& context) const {
  BindContext flat = context;
  flat.inputs = {Flat(context.inputs)};
  DTNN_ASSIGN_OR_RETURN(std::unique_ptr<LayerOp> fc, FcLayer::Bind(flat));
  return std::make_unique<ImageFcOp>(std::move(fc));
}

int64_t ImageFcLayer::MultiplyAdds(std::span<const Shape> inputs, TensorFormat format) const {
  const Shape flat = Flat(inputs);
  return FcLayer::MultiplyAdds({&flat, 1}, format);
}

}  // namespace dtnn
