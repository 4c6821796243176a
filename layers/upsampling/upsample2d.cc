#include "layers/upsampling/upsample2d.h"

#include <utility>

#include "layers/base/input_check.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

constexpr int64_t kMostScale = 1024;

constexpr std::pair<ResizeMode, std::string_view> kModes[] = {
    {ResizeMode::kNearest, "nearest"},
    {ResizeMode::kLinear, "bilinear"},
};

class Upsample2dOp : public LayerOp {
 public:
  explicit Upsample2dOp(std::unique_ptr<Resize> resize) : resize_(std::move(resize)) {}

  LayerOpTraits traits() const override { return {}; }
  absl::Status Forward(const ForwardArgs& args) override {
    return resize_->Forward(args.inputs[0], args.output);
  }
  absl::Status Backward(const BackwardArgs& args) override {
    if (args.dx[0].empty()) return absl::OkStatus();
    return resize_->Backward(args.dy, args.dx[0], args.accumulate[0]);
  }

 private:
  std::unique_ptr<Resize> resize_;
};

}  // namespace

std::string_view Name(ResizeMode mode) {
  return mode == ResizeMode::kNearest ? kModes[0].second : kModes[1].second;
}

std::optional<ResizeMode> ParseResizeMode(std::string_view name) {
  for (const auto& [mode, word] : kModes) {
    if (word == name) return mode;
  }
  return std::nullopt;
}

std::shared_ptr<const Layer> Upsample2dLayer::FromAttributes(AttributeReader& read) {
  Upsample2dOptions options;
  options.scale = read.TwoInts("scale");
  options.mode = read.Word("mode", ParseResizeMode);
  options.align_corners = read.Switch("align_corners");
  return std::make_shared<Upsample2dLayer>(options);
}

Attributes Upsample2dLayer::attributes() const {
  return {{"scale", PairAttribute(options_.scale)},
          {"mode", std::string(Name(options_.mode))},
          {"align_corners", int64_t{options_.align_corners}}};
}

ResizeSpec Upsample2dLayer::Spec(const Shape& input, TensorFormat format) const {
  const ImageExtents image = ExtentsOf(input, format);
  return {.batch = 1,
          .height = image.height,
          .width = image.width,
          .channels = image.channels,
          .out_height = image.height * options_.scale.vertical,
          .out_width = image.width * options_.scale.horizontal,
          .mode = options_.mode,
          .align_corners = options_.align_corners,
          .format = format};
}

absl::StatusOr<Shape> Upsample2dLayer::OutputShape(std::span<const Shape> inputs,
                                                   TensorFormat format) const {
  DTNN_RETURN_IF_ERROR(ExpectOneImage(inputs));
  for (const int64_t scale : {options_.scale.vertical, options_.scale.horizontal}) {
    if (scale >= 1 && scale <= kMostScale) continue;
    return InvalidArgument("scale is ", scale, ", expected 1 to ", kMostScale);
  }
  const ResizeSpec spec = Spec(inputs[0], format);
  DTNN_RETURN_IF_ERROR(spec.Validate());
  return spec.OutputShape().DropFirst();
}

absl::StatusOr<std::unique_ptr<LayerOp>> Upsample2dLayer::Bind(const BindContext& context) const {
  ResizeSpec spec = Spec(context.inputs[0], context.format);
  spec.batch = context.batch;
  spec.dtype = context.dtype;
  DTNN_ASSIGN_OR_RETURN(std::unique_ptr<Resize> resize, CreateResize(*context.device, spec));
  return std::make_unique<Upsample2dOp>(std::move(resize));
}

std::string Upsample2dLayer::SettingsCell() const {
  const Pair scale = options_.scale;
  return StrCat("scale=", Shape{scale.vertical, scale.horizontal}.ToString(), ", ",
                Name(options_.mode), options_.align_corners ? ", align_corners" : "");
}

}  // namespace dtnn
