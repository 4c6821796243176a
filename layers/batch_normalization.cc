#include "layers/batch_normalization.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tensor/status_macros.h"

namespace dtnn {

absl::StatusOr<Shape> BatchNormalizationLayer::OutputShape(std::span<const Shape> inputs,
                                                           TensorFormat /*format*/) const {
  if (inputs.size() != 1 || (inputs[0].rank() != 1 && inputs[0].rank() != 3)) {
    return absl::InvalidArgumentError(
        absl::StrCat("takes one input, an image or a vector, not ", inputs.size(),
                     inputs.empty() ? "" : " of shape " + inputs[0].ToString()));
  }
  return inputs[0];
}

std::vector<ParameterSpec> BatchNormalizationLayer::Parameters(std::span<const Shape> inputs,
                                                               TensorFormat format) const {
  const Shape& sample = inputs[0];
  const Shape shape = {sample.rank() == 1 ? sample[0] : ExtentsOf(sample, format).channels};
  const auto layout = sample.rank() == 1 ? ParameterLayout::kFeatures : ParameterLayout::kFixed;
  const auto parameter = [&](std::string name, InitializerKind initializer, bool trainable) {
    return ParameterSpec{.name = std::move(name),
                         .shape = shape,
                         .initializer = {.kind = initializer},
                         .trainable = trainable,
                         .layout = layout};
  };
  return {parameter("beta", InitializerKind::kZeros, true),
          parameter("gamma", InitializerKind::kOnes, true),
          parameter("running_var", InitializerKind::kOnes, false),
          parameter("running_mean", InitializerKind::kZeros, false)};
}

absl::StatusOr<std::unique_ptr<LayerOp>> BatchNormalizationLayer::Bind(
    const BindContext& /*context*/) const {
  return absl::UnimplementedError("batch normalisation has no kernel yet");
}

}  // namespace dtnn
