#include "layers/dropout.h"

#include <utility>

#include "absl/strings/str_format.h"
#include "kernels/dropout/dropout.h"
#include "layers/base/input_check.h"
#include "tensor/status_macros.h"

namespace dtnn {
namespace {

class TrainingOp : public LayerOp {
 public:
  TrainingOp(std::unique_ptr<Dropout> dropout, const Philox& random, uint64_t numbers_per_step)
      : dropout_(std::move(dropout)), random_(random), numbers_per_step_(numbers_per_step) {}

  LayerOpTraits traits() const override {
    return {.forward_in_place = true, .backward_in_place = 0};
  }
  absl::Status Forward(const ForwardArgs& args) override {
    return dropout_->Run(args.inputs[0], random_, OffsetOf(args), args.output, false);
  }
  absl::Status Backward(const BackwardArgs& args) override {
    if (args.dx[0].empty()) return absl::OkStatus();
    return dropout_->Run(args.dy, random_, OffsetOf(args), args.dx[0], args.accumulate[0]);
  }

 private:
  template <class Args>
  RandomOffset OffsetOf(const Args& args) const {
    if (args.device_step.empty()) return uint64_t(args.step) * numbers_per_step_;
    return {numbers_per_step_, args.device_step};
  }

  std::unique_ptr<Dropout> dropout_;
  Philox random_;
  uint64_t numbers_per_step_;
};

class EvaluationOp : public LayerOp {
 public:
  LayerOpTraits traits() const override { return {.is_view = true}; }
  absl::Status Forward(const ForwardArgs&) override { return absl::OkStatus(); }
  absl::Status Backward(const BackwardArgs&) override {
    return absl::FailedPreconditionError("Dropout was bound for evaluation");
  }
};

}  // namespace

std::shared_ptr<const Layer> DropoutLayer::FromAttributes(AttributeReader& read) {
  return std::make_shared<DropoutLayer>(read.Real("rate"));
}

Attributes DropoutLayer::attributes() const { return {{"rate", rate_}}; }

absl::StatusOr<Shape> DropoutLayer::OutputShape(std::span<const Shape> inputs,
                                                TensorFormat /*format*/) const {
  DTNN_RETURN_IF_ERROR(ExpectOneInput(inputs));
  if (!(rate_ >= 0 && rate_ <= 1)) {
    return absl::InvalidArgumentError(absl::StrFormat("needs a rate in [0, 1], not %g", rate_));
  }
  return inputs[0];
}

absl::StatusOr<std::unique_ptr<LayerOp>> DropoutLayer::Bind(const BindContext& context) const {
  if (!context.training) return std::make_unique<EvaluationOp>();
  DTNN_ASSIGN_OR_RETURN(std::unique_ptr<Dropout> dropout,
                        CreateDropout(*context.device, {.rate = rate_,
                                                        .format = context.format,
                                                        .dtype = context.dtype,
                                                        .pixels = context.features_of.height *
                                                                  context.features_of.width}));
  const uint64_t elements = uint64_t(context.batch * context.output.NumElements());
  // Offsets are multiples of four: a Philox block.
  return std::make_unique<TrainingOp>(std::move(dropout), context.random, (elements + 3) / 4 * 4);
}

std::string DropoutLayer::SettingsCell() const { return absl::StrFormat("rate=%.2f", rate_); }

}  // namespace dtnn
