#include "layers/merging/concatenation.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "kernels/concat/concat.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

class ConcatenationOp : public LayerOp {
 public:
  ConcatenationOp(std::unique_ptr<Concat> concat, const BindContext& context)
      : concat_(std::move(concat)), format_(context.format) {
    for (const Shape& input : context.inputs)
      channels_.push_back(ExtentsOf(input, format_).channels);
  }

  LayerOpTraits traits() const override { return {.joins_channels = true}; }
  absl::Status Forward(const ForwardArgs& args) override {
    return concat_->Forward(args.inputs, args.output);
  }
  absl::Status Backward(const BackwardArgs& args) override {
    const auto unwanted = std::ranges::count_if(args.dx, &Tensor::empty);
    if (unwanted <= 1) return concat_->Backward(args.dy, args.dx, args.accumulate);
    // The kernel infers the width of one empty part, but not of several: part by part.
    for (size_t i = 0, begin = 0; i < args.dx.size(); begin += size_t(channels_[i++])) {
      if (args.dx[i].empty()) continue;
      DTNN_RETURN_IF_ERROR(
          concat_->Backward(args.dy.Channels(int64_t(begin), channels_[i], format_),
                            args.dx.subspan(i, 1), args.accumulate.subspan(i, 1)));
    }
    return absl::OkStatus();
  }

 private:
  std::unique_ptr<Concat> concat_;
  TensorFormat format_;
  std::vector<int64_t> channels_;  // of the inputs
};

}  // namespace

absl::StatusOr<Shape> ConcatenationLayer::OutputShape(std::span<const Shape> inputs,
                                                      TensorFormat format) const {
  if (inputs.empty()) return absl::InvalidArgumentError("needs at least one path");
  ImageExtents result;
  for (const Shape& input : inputs) {
    if (input.rank() != 3) {
      return InvalidArgument("concatenates images, not a sample of shape ", input.ToString());
    }
    const ImageExtents image = ExtentsOf(input, format);
    if (result.channels > 0 && (image.height != result.height || image.width != result.width)) {
      return InvalidArgument("concatenates maps of one size, but has ", inputs[0].ToString(),
                             " and ", input.ToString());
    }
    result = {image.height, image.width, result.channels + image.channels};
  }
  return SampleShape(result, format);
}

absl::StatusOr<std::unique_ptr<LayerOp>> ConcatenationLayer::Bind(
    const BindContext& context) const {
  DTNN_ASSIGN_OR_RETURN(
      std::unique_ptr<Concat> concat,
      CreateConcat(*context.device, {.format = context.format, .dtype = context.dtype}));
  return std::make_unique<ConcatenationOp>(std::move(concat), context);
}

}  // namespace dtnn
