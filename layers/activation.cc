#include "layers/activation.h"

#include <utility>
#include <variant>

#include "layers/base/input_check.h"
#include "tensor/status_macros.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

class ActivationOp : public LayerOp {
 public:
  ActivationOp(std::unique_ptr<Activation> activation, bool reads_input)
      : activation_(std::move(activation)), reads_input_(reads_input) {}

  LayerOpTraits traits() const override {
    return {.backward_reads_input = reads_input_,
            .backward_reads_output = !reads_input_,
            .forward_in_place = true,
            .backward_in_place = 0};
  }
  absl::Status Forward(const ForwardArgs& args) override {
    return activation_->Forward(args.inputs[0], args.output);
  }
  absl::Status Backward(const BackwardArgs& args) override {
    if (args.dx[0].empty()) return absl::OkStatus();
    const Tensor& point = reads_input_ ? args.inputs[0] : args.output;
    return activation_->Backward(point, args.dy, args.dx[0], args.accumulate[0]);
  }

 private:
  std::unique_ptr<Activation> activation_;
  bool reads_input_;
};

}  // namespace

std::string_view ActivationLayer::type_name() const {
  switch (kind_) {
    case ActivationKind::kRelu:
      return "Relu";
    case ActivationKind::kSigmoid:
      return "Sigmoid";
    case ActivationKind::kTanh:
      return "Tanh";
    case ActivationKind::kLeakyRelu:
      return "LeakyRelu";
    case ActivationKind::kRelu6:
      return "Relu6";
    case ActivationKind::kArctanh:
      return "Arctanh";
    case ActivationKind::kLog:
      return "Log";
    case ActivationKind::kHardSigmoid:
      return "HardSigmoid";
    case ActivationKind::kSilu:
      return "SiLU";
    case ActivationKind::kGelu:
      return "GELU";
    case ActivationKind::kHardSwish:
      return "HardSwish";
    case ActivationKind::kElu:
      return "ELU";
    case ActivationKind::kClip:
      return "Clip";
    case ActivationKind::kSoftplus:
      return "Softplus";
    case ActivationKind::kMish:
      return "Mish";
  }
  return "?";
}

std::shared_ptr<const Layer> ActivationLayer::FromAttributes(ActivationKind kind,
                                                             AttributeReader& read) {
  ActivationNumbers numbers;
  if (kind == ActivationKind::kLeakyRelu && read.Has("slope")) numbers.slope = read.Real("slope");
  if (kind == ActivationKind::kElu) numbers.alpha = read.Real("alpha");
  if (kind == ActivationKind::kClip) {
    numbers.low = read.Real("low");
    numbers.high = read.Real("high");
  }
  return std::make_shared<ActivationLayer>(kind, numbers);
}

Attributes ActivationLayer::attributes() const {
  switch (kind_) {
    case ActivationKind::kLeakyRelu:
      if (numbers_.slope == ActivationNumbers().slope) return {};
      return {{"slope", numbers_.slope}};
    case ActivationKind::kElu:
      return {{"alpha", numbers_.alpha}};
    case ActivationKind::kClip:
      return {{"low", numbers_.low}, {"high", numbers_.high}};
    default:
      return {};
  }
}

std::string ActivationLayer::SettingsCell() const {
  std::string cell;
  for (const auto& [name, value] : attributes()) {
    StrAppend(&cell, cell.empty() ? "" : ", ", name, " ", std::get<double>(value));
  }
  return cell;
}

absl::StatusOr<Shape> ActivationLayer::OutputShape(std::span<const Shape> inputs,
                                                   TensorFormat /*format*/) const {
  DTNN_RETURN_IF_ERROR(ExpectOneInput(inputs));
  DTNN_RETURN_IF_ERROR(CheckNumbers(kind_, numbers_));
  return inputs[0];
}

absl::StatusOr<std::unique_ptr<LayerOp>> ActivationLayer::Bind(const BindContext& context) const {
  DTNN_ASSIGN_OR_RETURN(
      std::unique_ptr<Activation> activation,
      CreateActivation(
          *context.device,
          {.kind = kind_, .format = context.format, .dtype = context.dtype, .numbers = numbers_}));
  return std::make_unique<ActivationOp>(std::move(activation), GradientReadsInput(kind_));
}

}  // namespace dtnn
