// Elementwise activation layers: Relu, Sigmoid, Tanh, LeakyRelu, Relu6, Arctanh, Log,
// HardSigmoid, SiLU, GELU, HardSwish; formulas in kernels/activation/activation.h.

#ifndef DTNN_LAYERS_ACTIVATION_H_
#define DTNN_LAYERS_ACTIVATION_H_

#include "kernels/activation/activation.h"
#include "layers/base/layer.h"

namespace dtnn {

class ActivationLayer : public Layer {
 public:
  explicit ActivationLayer(ActivationKind kind) : kind_(kind) {}

  ActivationKind kind() const { return kind_; }
  std::string_view type_name() const override;
  absl::StatusOr<Shape> OutputShape(std::span<const Shape> inputs,
                                    TensorFormat format) const override;
  absl::StatusOr<std::unique_ptr<LayerOp>> Bind(const BindContext& context) const override;
  Epilogue absorbable() const override { return {.relu = kind_ == ActivationKind::kRelu}; }

 private:
  ActivationKind kind_;
};

}  // namespace dtnn

#endif  // DTNN_LAYERS_ACTIVATION_H_
