#include "layers/pixels/scale.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "kernels/channel_scale/channel_scale.h"
#include "layers/base/input_check.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

// The kernel takes a factor for each channel of each sample: all the same, kept.
class ScaleOp : public LayerOp {
 public:
  ScaleOp(const BindContext& context, std::unique_ptr<ChannelScale> scale, double factor)
      : device_(*context.device),
        factors_(SampleShape({1, 1, ExtentsOf(context.inputs[0], context.format).channels},
                             context.format)
                     .Prepend(context.batch)),
        dtype_(context.dtype),
        scale_(std::move(scale)),
        factor_(factor) {}

  LayerOpTraits traits() const override {
    return {.forward_in_place = true,
            .backward_in_place = 0,
            .kept_bytes = size_t(factors_.NumElements()) * SizeOf(dtype_)};
  }
  absl::Status Keep(std::shared_ptr<Buffer> memory) override {
    memory_ = std::move(memory);
    DTNN_ASSIGN_OR_RETURN(const Tensor host, Tensor::Allocate(Device::Cpu(), dtype_, factors_));
    DispatchGpuFloating(dtype_, [&]<typename T>(T) {
      std::fill_n(host.data<T>(), host.num_elements(), T(Wide<T>(factor_)));
    });
    DTNN_RETURN_IF_ERROR(device_.Copy(host, Factors(factors_[0])));
    return device_.Synchronize();
  }
  absl::Status Forward(const ForwardArgs& args) override {
    const Tensor& x = args.inputs[0];
    return scale_->Multiply(x, Factors(x.shape()[0]), args.output, /*accumulate=*/false);
  }
  absl::Status Backward(const BackwardArgs& args) override {
    if (args.dx[0].empty()) return absl::OkStatus();
    return scale_->Multiply(args.dy, Factors(args.dy.shape()[0]), args.dx[0], args.accumulate[0]);
  }

 private:
  Tensor Factors(int64_t samples) const {
    return Tensor::View(memory_, 0, dtype_, factors_.DropFirst().Prepend(samples));
  }

  DeviceContext& device_;
  Shape factors_;
  DType dtype_;
  std::unique_ptr<ChannelScale> scale_;
  double factor_;
  std::shared_ptr<Buffer> memory_;
};

}  // namespace

std::shared_ptr<const Layer> ScaleLayer::FromAttributes(AttributeReader& read) {
  return std::make_shared<ScaleLayer>(read.Real("factor"));
}

absl::StatusOr<Shape> ScaleLayer::OutputShape(std::span<const Shape> inputs,
                                              TensorFormat /*format*/) const {
  DTNN_RETURN_IF_ERROR(ExpectOneImage(inputs));
  if (std::abs(factor_) <= double(std::numeric_limits<float>::max())) return inputs[0];
  return InvalidArgument("factor is ", factor_, ", expected a number that a float can be");
}

absl::StatusOr<std::unique_ptr<LayerOp>> ScaleLayer::Bind(const BindContext& context) const {
  DTNN_ASSIGN_OR_RETURN(
      std::unique_ptr<ChannelScale> scale,
      CreateChannelScale(*context.device, {.format = context.format, .dtype = context.dtype}));
  return std::make_unique<ScaleOp>(context, std::move(scale), factor_);
}

std::string ScaleLayer::SettingsCell() const { return StrCat("factor ", factor_); }

}  // namespace dtnn
