#include "layers/flatten.h"

#include <utility>

#include "kernels/add/add.h"
#include "layers/base/input_check.h"
#include "tensor/status_macros.h"

namespace dtnn {
namespace {

// A plan gives it views, on which there is nothing to do; gradients that flow to several consumers
// are the one case where the memory differs.
class FlattenOp : public LayerOp {
 public:
  explicit FlattenOp(std::unique_ptr<Add> add) : add_(std::move(add)) {}

  LayerOpTraits traits() const override { return {.is_view = true, .backward_in_place = 0}; }
  absl::Status Forward(const ForwardArgs&) override { return absl::OkStatus(); }
  absl::Status Backward(const BackwardArgs& args) override {
    if (args.dx[0].empty()) return absl::OkStatus();
    const Tensor dy = args.dy.Reshaped(args.dx[0].shape());
    return add_->Run({&dy, 1}, args.dx[0], args.accumulate[0]);
  }

 private:
  std::unique_ptr<Add> add_;
};

}  // namespace

absl::StatusOr<Shape> FlattenLayer::OutputShape(std::span<const Shape> inputs,
                                                TensorFormat /*format*/) const {
  DTNN_RETURN_IF_ERROR(ExpectOneInput(inputs));
  return Shape{inputs[0].NumElements()};
}

absl::StatusOr<std::unique_ptr<LayerOp>> FlattenLayer::Bind(const BindContext& context) const {
  DTNN_ASSIGN_OR_RETURN(
      std::unique_ptr<Add> add,
      CreateAdd(*context.device, {.format = context.format, .dtype = context.dtype}));
  return std::make_unique<FlattenOp>(std::move(add));
}

}  // namespace dtnn
