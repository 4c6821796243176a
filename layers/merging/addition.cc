#include "layers/merging/addition.h"

#include <utility>

#include "kernels/add/add.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

class AdditionOp : public LayerOp {
 public:
  explicit AdditionOp(std::unique_ptr<Add> add) : add_(std::move(add)) {}

  LayerOpTraits traits() const override { return {.backward_in_place = 0}; }

  absl::Status Forward(const ForwardArgs& args) override {
    return add_->Run(args.inputs, args.output, /*accumulate=*/false);
  }

  absl::Status Backward(const BackwardArgs& args) override {
    for (size_t i = 0; i < args.dx.size(); ++i) {
      // Where the first input's gradient is dy's memory, it is complete.
      if (args.dx[i].empty() || args.dx[i].raw_data() == args.dy.raw_data()) continue;
      DTNN_RETURN_IF_ERROR(add_->Run({&args.dy, 1}, args.dx[i], args.accumulate[i]));
    }
    return absl::OkStatus();
  }

 private:
  std::unique_ptr<Add> add_;
};

}  // namespace

absl::StatusOr<Shape> AdditionLayer::OutputShape(std::span<const Shape> inputs,
                                                 TensorFormat /*format*/) const {
  if (inputs.empty()) return absl::InvalidArgumentError("needs at least one path");
  for (const Shape& input : inputs) {
    if (input == inputs[0]) continue;
    return InvalidArgument("adds paths of equal shapes, but has ", inputs[0].ToString(), " and ",
                           input.ToString());
  }
  return inputs[0];
}

absl::StatusOr<std::unique_ptr<LayerOp>> AdditionLayer::Bind(const BindContext& context) const {
  DTNN_ASSIGN_OR_RETURN(
      std::unique_ptr<Add> add,
      CreateAdd(*context.device, {.format = context.format, .dtype = context.dtype}));
  return std::make_unique<AdditionOp>(std::move(add));
}

}  // namespace dtnn
