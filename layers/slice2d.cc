#include "layers/slice2d.h"

#include <utility>

#include "layers/base/input_check.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

class Slice2dOp : public LayerOp {
 public:
  explicit Slice2dOp(std::unique_ptr<ImageSlice> slice) : slice_(std::move(slice)) {}

  LayerOpTraits traits() const override { return {}; }
  absl::Status Forward(const ForwardArgs& args) override {
    return slice_->Forward(args.inputs[0], args.output);
  }
  absl::Status Backward(const BackwardArgs& args) override {
    if (args.dx[0].empty()) return absl::OkStatus();
    return slice_->Backward(args.dy, args.dx[0], args.accumulate[0]);
  }

 private:
  std::unique_ptr<ImageSlice> slice_;
};

// All that are left where `count` is 0. Numbers that do not fit are the primitive's to refuse.
int64_t CountOf(int64_t count, int64_t begin, int64_t step, int64_t extent) {
  if (count != 0 || step < 1 || begin < 0 || begin >= extent) return count;
  return (extent - begin - 1) / step + 1;
}

}  // namespace

std::shared_ptr<const Layer> Slice2dLayer::FromAttributes(AttributeReader& read) {
  return std::make_shared<Slice2dLayer>(Slice2dOptions{.begin = read.TwoInts("begin"),
                                                       .count = read.TwoInts("count"),
                                                       .step = read.TwoInts("step")});
}

Attributes Slice2dLayer::attributes() const {
  return {{"begin", PairAttribute(options_.begin)},
          {"count", PairAttribute(options_.count)},
          {"step", PairAttribute(options_.step)}};
}

ImageSliceSpec Slice2dLayer::SpecOf(const Shape& input, TensorFormat format) const {
  const auto& [begin, count, step] = options_;
  const ImageExtents image = ExtentsOf(input, format);
  return {.image = image,
          .begin = begin,
          .count = {CountOf(count.vertical, begin.vertical, step.vertical, image.height),
                    CountOf(count.horizontal, begin.horizontal, step.horizontal, image.width)},
          .step = step,
          .format = format};
}

absl::StatusOr<Shape> Slice2dLayer::OutputShape(std::span<const Shape> inputs,
                                                TensorFormat format) const {
  DTNN_RETURN_IF_ERROR(ExpectOneImage(inputs));
  const ImageSliceSpec spec = SpecOf(inputs[0], format);
  DTNN_RETURN_IF_ERROR(CheckImageSlice(spec));
  return SampleShape(spec.output(), format);
}

absl::StatusOr<std::unique_ptr<LayerOp>> Slice2dLayer::Bind(const BindContext& context) const {
  ImageSliceSpec spec = SpecOf(context.inputs[0], context.format);
  spec.dtype = context.dtype;
  DTNN_ASSIGN_OR_RETURN(std::unique_ptr<ImageSlice> slice, CreateImageSlice(*context.device, spec));
  return std::make_unique<Slice2dOp>(std::move(slice));
}

std::string Slice2dLayer::SettingsCell() const {
  const auto axis = [](const char* name, int64_t begin, int64_t count, int64_t step) {
    std::string cell = StrCat(name, " from ", begin, " on");
    if (count > 0) StrAppend(&cell, ": ", count);
    if (step > 1) StrAppend(&cell, ", step ", step);
    return cell;
  };
  const auto& [begin, count, step] = options_;
  return StrCat(axis("rows", begin.vertical, count.vertical, step.vertical), "; ",
                axis("columns", begin.horizontal, count.horizontal, step.horizontal));
}

}  // namespace dtnn
