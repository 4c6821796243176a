#include "layers/concatenation.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/concat/concat.h"
#include "tensor/status_macros.h"

namespace dtnn {
namespace {

class ConcatenationOp : public LayerOp {
 public:
  explicit ConcatenationOp(std::unique_ptr<Concat> concat) : concat_(std::move(concat)) {}

  LayerOpTraits traits() const override { return {}; }
  absl::Status Forward(const ForwardArgs& args) override {
    return concat_->Forward(args.inputs, args.output);
  }
  absl::Status Backward(const BackwardArgs& args) override {
    return concat_->Backward(args.dy, args.dx, args.accumulate);
  }

 private:
  std::unique_ptr<Concat> concat_;
};

}  // namespace

absl::StatusOr<Shape> ConcatenationLayer::OutputShape(std::span<const Shape> inputs,
                                                      TensorFormat format) const {
  if (inputs.empty()) return absl::InvalidArgumentError("needs at least one path");
  ImageExtents result;
  for (const Shape& input : inputs) {
    if (input.rank() != 3) {
      return absl::InvalidArgumentError(
          absl::StrCat("concatenates images, not a sample of shape ", input.ToString()));
    }
    const ImageExtents image = ExtentsOf(input, format);
    if (result.channels > 0 && (image.height != result.height || image.width != result.width)) {
      return absl::InvalidArgumentError(absl::StrCat("concatenates maps of one size, but has ",
                                                     inputs[0].ToString(), " and ",
                                                     input.ToString()));
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
  return std::make_unique<ConcatenationOp>(std::move(concat));
}

}  // namespace dtnn
