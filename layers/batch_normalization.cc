#include "layers/batch_normalization.h"

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
  const Initializer zeros = {.kind = InitializerKind::kZeros};
  const Initializer ones = {.kind = InitializerKind::kOnes};
  return {{.name = "beta", .shape = shape, .initializer = zeros},
          {.name = "gamma", .shape = shape, .initializer = ones},
          {.name = "running_var", .shape = shape, .initializer = ones, .trainable = false},
          {.name = "running_mean", .shape = shape, .initializer = zeros, .trainable = false}};
}

absl::StatusOr<std::unique_ptr<LayerOp>> BatchNormalizationLayer::Bind(
    const BindContext& /*context*/) const {
  return absl::UnimplementedError("batch normalisation has no kernel yet");
}

}  // namespace dtnn
