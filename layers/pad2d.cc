#include "layers/pad2d.h"

#include <utility>

#include "layers/base/input_check.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

class Pad2dOp : public LayerOp {
 public:
  explicit Pad2dOp(std::unique_ptr<Pad> pad) : pad_(std::move(pad)) {}

  LayerOpTraits traits() const override { return {}; }
  absl::Status Forward(const ForwardArgs& args) override {
    return pad_->Forward(args.inputs[0], args.output);
  }
  absl::Status Backward(const BackwardArgs& args) override {
    if (args.dx[0].empty()) return absl::OkStatus();
    return pad_->Backward(args.dy, args.dx[0], args.accumulate[0]);
  }

 private:
  std::unique_ptr<Pad> pad_;
};

}  // namespace

std::shared_ptr<const Layer> Pad2dLayer::FromAttributes(AttributeReader& read) {
  return std::make_shared<Pad2dLayer>(Pad2dOptions{.before = read.TwoInts("before"),
                                                   .after = read.TwoInts("after"),
                                                   .mode = read.Word("mode", ParsePadMode),
                                                   .value = read.Real("value")});
}

Attributes Pad2dLayer::attributes() const {
  return {{"before", PairAttribute(options_.before)},
          {"after", PairAttribute(options_.after)},
          {"mode", std::string(Name(options_.mode))},
          {"value", options_.value}};
}

PadSpec Pad2dLayer::SpecOf(const Shape& input, TensorFormat format) const {
  return {.image = ExtentsOf(input, format),
          .top = options_.before.vertical,
          .bottom = options_.after.vertical,
          .left = options_.before.horizontal,
          .right = options_.after.horizontal,
          .mode = options_.mode,
          .value = options_.value,
          .format = format};
}

absl::StatusOr<Shape> Pad2dLayer::OutputShape(std::span<const Shape> inputs,
                                              TensorFormat format) const {
  DTNN_RETURN_IF_ERROR(ExpectOneImage(inputs));
  const PadSpec spec = SpecOf(inputs[0], format);
  DTNN_RETURN_IF_ERROR(CheckPad(spec));
  return SampleShape(spec.output(), format);
}

absl::StatusOr<std::unique_ptr<LayerOp>> Pad2dLayer::Bind(const BindContext& context) const {
  PadSpec spec = SpecOf(context.inputs[0], context.format);
  spec.dtype = context.dtype;
  DTNN_ASSIGN_OR_RETURN(std::unique_ptr<Pad> pad, CreatePad(*context.device, spec));
  return std::make_unique<Pad2dOp>(std::move(pad));
}

std::string Pad2dLayer::SettingsCell() const {
  const auto& [before, after, mode, value] = options_;
  std::string cell = StrCat("top ", before.vertical, ", bottom ", after.vertical, ", left ",
                            before.horizontal, ", right ", after.horizontal, ", ", Name(mode));
  if (mode == PadMode::kConstant) StrAppend(&cell, " ", value);
  return cell;
}

}  // namespace dtnn
