// Inverted dropout, per element of the batch; the identity in evaluation. Semantics and randomness
// in kernels/dropout/dropout.h: nothing is stored between forward and backward.

#ifndef DTNN_LAYERS_DROPOUT_H_
#define DTNN_LAYERS_DROPOUT_H_

#include "layers/base/layer.h"

namespace dtnn {

class DropoutLayer : public Layer {
 public:
  explicit DropoutLayer(double rate) : rate_(rate) {}
  static std::shared_ptr<const Layer> FromAttributes(AttributeReader& read);

  std::string_view type_name() const override { return "Dropout"; }
  Attributes attributes() const override;
  absl::StatusOr<Shape> OutputShape(std::span<const Shape> inputs,
                                    TensorFormat format) const override;
  absl::StatusOr<std::unique_ptr<LayerOp>> Bind(const BindContext& context) const override;
  std::string SettingsCell() const override;  // "rate=0.50"

 private:
  double rate_;
};

}  // namespace dtnn

#endif  // DTNN_LAYERS_DROPOUT_H_
