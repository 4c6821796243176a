// Elementwise activation layers: Relu, Sigmoid, Tanh, LeakyRelu, Relu6, Arctanh, Log,
// HardSigmoid, SiLU, GELU, HardSwish, ELU, Clip, Softplus, Mish; formulas in
// kernels/activation/activation.h. Numbers that the kind cannot have are InvalidArgument.

#ifndef DTNN_LAYERS_ACTIVATION_H_
#define DTNN_LAYERS_ACTIVATION_H_

#include "kernels/activation/activation.h"
#include "layers/base/layer.h"

namespace dtnn {

class ActivationLayer : public Layer {
 public:
  explicit ActivationLayer(ActivationKind kind, const ActivationNumbers& numbers = {})
      : kind_(kind), numbers_(numbers) {}
  static std::shared_ptr<const Layer> FromAttributes(ActivationKind kind, AttributeReader& read);

  ActivationKind kind() const { return kind_; }
  const ActivationNumbers& numbers() const { return numbers_; }
  std::string_view type_name() const override;
  // The slope of a LeakyRelu only where it is not PyTorch's: earlier versions had no other.
  Attributes attributes() const override;
  absl::StatusOr<Shape> OutputShape(std::span<const Shape> inputs,
                                    TensorFormat format) const override;
  absl::StatusOr<std::unique_ptr<LayerOp>> Bind(const BindContext& context) const override;
  Epilogue absorbable() const override { return {.relu = kind_ == ActivationKind::kRelu}; }
  std::string SettingsCell() const override;

 private:
  ActivationKind kind_;
  ActivationNumbers numbers_;
};

}  // namespace dtnn

#endif  // DTNN_LAYERS_ACTIVATION_H_
