#include "layers/softmax.h"

#include <utility>

#include "kernels/softmax/softmax.h"
#include "layers/base/input_check.h"
#include "tensor/status_macros.h"

namespace dtnn {
namespace {

class SoftmaxOp : public LayerOp {
 public:
  explicit SoftmaxOp(std::unique_ptr<Softmax> softmax) : softmax_(std::move(softmax)) {}

  LayerOpTraits traits() const override {
    return {.backward_reads_output = true, .forward_in_place = true, .backward_in_place = 0};
  }
  absl::Status Forward(const ForwardArgs& args) override {
    return softmax_->Forward(args.inputs[0], args.output);
  }
  absl::Status Backward(const BackwardArgs& args) override {
    if (args.dx[0].empty()) return absl::OkStatus();
    return softmax_->Backward(args.output, args.dy, args.dx[0], args.accumulate[0]);
  }

 private:
  std::unique_ptr<Softmax> softmax_;
};

}  // namespace

absl::StatusOr<Shape> SoftmaxLayer::OutputShape(std::span<const Shape> inputs,
                                                TensorFormat /*format*/) const {
  DTNN_RETURN_IF_ERROR(ExpectOneVector(inputs));
  return inputs[0];
}

absl::StatusOr<std::unique_ptr<LayerOp>> SoftmaxLayer::Bind(const BindContext& context) const {
  DTNN_ASSIGN_OR_RETURN(
      std::unique_ptr<Softmax> softmax,
      CreateSoftmax(*context.device,
                    {.rows = context.batch, .columns = context.output[0], .dtype = context.dtype}));
  return std::make_unique<SoftmaxOp>(std::move(softmax));
}

}  // namespace dtnn
