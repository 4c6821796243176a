#include "layers/normalization/group_normalization.h"

#include <cmath>
#include <string>
#include <utility>

#include "kernels/group_norm/group_norm.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

using Norm = GroupNormalizationLayer;

class GroupNormalizationOp : public LayerOp {
 public:
  explicit GroupNormalizationOp(std::unique_ptr<GroupNorm> norm) : norm_(std::move(norm)) {}

  LayerOpTraits traits() const override {
    return {.backward_reads_input = true,
            .forward_in_place = true,
            .backward_in_place = 0,
            .workspace_bytes = norm_->workspace_bytes()};
  }

  absl::Status Forward(const ForwardArgs& args) override {
    return norm_->Forward(args.inputs[0], args.parameters[Norm::kGamma].tensor,
                          args.parameters[Norm::kBeta].tensor, args.output);
  }

  absl::Status Backward(const BackwardArgs& args) override {
    const bool trains = !args.gradients.empty();
    return norm_->Backward(args.inputs[0], args.dy, args.parameters[Norm::kGamma].tensor,
                           args.dx[0], args.accumulate[0],
                           trains ? args.gradients[Norm::kGamma] : Tensor(),
                           trains ? args.gradients[Norm::kBeta] : Tensor(), args.workspace);
  }

 private:
  std::unique_ptr<GroupNorm> norm_;
};

}  // namespace

std::shared_ptr<const Layer> GroupNormalizationLayer::FromAttributes(AttributeReader& read) {
  GroupNormalizationOptions options;
  options.groups = read.Int("groups");
  options.per_pixel = read.Switch("per_pixel");
  options.epsilon = read.Real("epsilon");
  return std::make_shared<GroupNormalizationLayer>(options);
}

Attributes GroupNormalizationLayer::attributes() const {
  return {{"groups", options_.groups},
          {"per_pixel", int64_t{options_.per_pixel}},
          {"epsilon", options_.epsilon}};
}

std::string GroupNormalizationLayer::SettingsCell() const {
  std::string cell = options_.groups == 1 ? "" : "groups=" + std::to_string(options_.groups);
  if (options_.per_pixel) cell += cell.empty() ? "per pixel" : ", per pixel";
  return cell;
}

absl::StatusOr<Shape> GroupNormalizationLayer::OutputShape(std::span<const Shape> inputs,
                                                           TensorFormat format) const {
  if (inputs.size() != 1 || inputs[0].rank() != 3) {
    return InvalidArgument("takes one input, an image, not ", inputs.size(),
                           inputs.empty() ? "" : " of shape " + inputs[0].ToString());
  }
  const int64_t channels = ExtentsOf(inputs[0], format).channels;
  if (options_.groups < 1 || channels % options_.groups != 0) {
    return InvalidArgument("divides ", channels, " channels into ", options_.groups,
                           " groups; expected a divisor of ", channels);
  }
  if (!(options_.epsilon > 0) || !std::isfinite(options_.epsilon)) {
    return InvalidArgument("has an epsilon of ", options_.epsilon,
                           "; expected a finite number above 0");
  }
  return inputs[0];
}

std::vector<ParameterSpec> GroupNormalizationLayer::Parameters(std::span<const Shape> inputs,
                                                               TensorFormat format) const {
  const auto parameter = [&](std::string name, InitializerKind initializer) {
    return ParameterSpec{.name = std::move(name),
                         .shape = {ExtentsOf(inputs[0], format).channels},
                         .initializer = {.kind = initializer}};
  };
  return {parameter("beta", InitializerKind::kZeros), parameter("gamma", InitializerKind::kOnes)};
}

absl::StatusOr<std::unique_ptr<LayerOp>> GroupNormalizationLayer::Bind(
    const BindContext& context) const {
  const ImageExtents image = ExtentsOf(context.inputs[0], context.format);
  DTNN_ASSIGN_OR_RETURN(std::unique_ptr<GroupNorm> norm,
                        CreateGroupNorm(*context.device, {.batch = context.batch,
                                                          .positions = image.height * image.width,
                                                          .channels = image.channels,
                                                          .groups = options_.groups,
                                                          .per_pixel = options_.per_pixel,
                                                          .format = context.format,
                                                          .dtype = context.dtype,
                                                          .epsilon = options_.epsilon}));
  return std::make_unique<GroupNormalizationOp>(std::move(norm));
}

}  // namespace dtnn
