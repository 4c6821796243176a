#include "layers/pool2d.h"

#include <utility>

#include "kernels/activation/activation.h"
#include "layers/base/geometry_cell.h"
#include "layers/base/input_check.h"
#include "tensor/status_macros.h"

namespace dtnn {
namespace {

class Pool2dOp : public LayerOp {
 public:
  // `relu`: whose gradient is applied too, or null.
  Pool2dOp(std::unique_ptr<Pool> pool, std::unique_ptr<Activation> relu, const PoolSpec& spec,
           bool keeps_argmax)
      : pool_(std::move(pool)), relu_(std::move(relu)) {
    traits_.backward_reads_output = relu_ != nullptr;
    if (keeps_argmax && spec.kind == PoolKind::kMax) {
      traits_.state_dtype = spec.ArgmaxDType();
      traits_.state_shape = spec.OutputShape().DropFirst();
    }
  }

  LayerOpTraits traits() const override { return traits_; }
  absl::Status Forward(const ForwardArgs& args) override {
    return pool_->Forward(args.inputs[0], args.output, args.state);
  }
  absl::Status Backward(const BackwardArgs& args) override {
    if (args.dx[0].empty()) return absl::OkStatus();
    // A maximum of 0 is a window of which the relu let nothing through.
    if (relu_ != nullptr) {
      DTNN_RETURN_IF_ERROR(relu_->Backward(args.output, args.dy, args.dy, /*accumulate=*/false));
    }
    return pool_->Backward(args.dy, args.state, args.dx[0], args.accumulate[0]);
  }

 private:
  std::unique_ptr<Pool> pool_;
  std::unique_ptr<Activation> relu_;
  LayerOpTraits traits_;
};

}  // namespace

std::shared_ptr<const Layer> Pool2dLayer::FromAttributes(PoolKind kind, AttributeReader& read) {
  Pool2dOptions options;
  options.window = read.TwoInts("window");
  options.stride = read.TwoInts("stride");
  options.padding = read.TwoInts("padding");
  options.dilation = read.TwoInts("dilation");
  options.ceil = read.Has("ceil") && read.Switch("ceil");
  options.count_padding = read.Has("count_padding") && read.Switch("count_padding");
  return std::make_shared<Pool2dLayer>(kind, options);
}

Attributes Pool2dLayer::attributes() const {
  Attributes attributes = {{"window", PairAttribute(options_.window)},
                           {"stride", PairAttribute(options_.stride)},
                           {"padding", PairAttribute(options_.padding)},
                           {"dilation", PairAttribute(options_.dilation)}};
  if (options_.ceil) attributes.emplace_back("ceil", int64_t{1});
  if (options_.count_padding) attributes.emplace_back("count_padding", int64_t{1});
  return attributes;
}

PoolSpec Pool2dLayer::Spec(const Shape& input, TensorFormat format) const {
  const ImageExtents image = ExtentsOf(input, format);
  PoolSpec spec;
  spec.kind = kind_;
  spec.batch = 1;
  spec.height = image.height;
  spec.width = image.width;
  spec.channels = image.channels;
  spec.window = options_.window;
  if (spec.window.vertical == 0) spec.window.vertical = image.height;
  if (spec.window.horizontal == 0) spec.window.horizontal = image.width;
  spec.stride = options_.stride;
  spec.padding = options_.padding;
  spec.dilation = options_.dilation;
  spec.ceil = options_.ceil;
  spec.count_padding = options_.count_padding;
  spec.format = format;
  return spec;
}

absl::StatusOr<Shape> Pool2dLayer::OutputShape(std::span<const Shape> inputs,
                                               TensorFormat format) const {
  DTNN_RETURN_IF_ERROR(ExpectOneImage(inputs));
  const PoolSpec spec = Spec(inputs[0], format);
  DTNN_RETURN_IF_ERROR(spec.Validate());
  return spec.OutputShape().DropFirst();
}

absl::StatusOr<std::unique_ptr<LayerOp>> Pool2dLayer::Bind(const BindContext& context) const {
  PoolSpec spec = Spec(context.inputs[0], context.format);
  spec.batch = context.batch;
  spec.dtype = context.dtype;
  DTNN_ASSIGN_OR_RETURN(std::unique_ptr<Pool> pool, CreatePool(*context.device, spec));
  std::unique_ptr<Activation> relu;
  if (context.after_relu) {
    DTNN_ASSIGN_OR_RETURN(relu, CreateActivation(*context.device, {.kind = ActivationKind::kRelu,
                                                                   .format = context.format,
                                                                   .dtype = context.dtype}));
  }
  return std::make_unique<Pool2dOp>(std::move(pool), std::move(relu), spec,
                                    context.training && context.backward);
}

std::string Pool2dLayer::WeightsCell(std::span<const Shape> inputs, TensorFormat format) const {
  const Pair window = Spec(inputs[0], format).window;
  return Shape{window.vertical, window.horizontal}.ToString();
}

std::string Pool2dLayer::SettingsCell() const {
  return GeometryCell(options_.padding, options_.stride, options_.dilation) +
         (options_.ceil ? ", ceil" : "") + (options_.count_padding ? ", counts padding" : "");
}

}  // namespace dtnn
