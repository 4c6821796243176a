// An image times one number, which training does not change: y = factor * x.

#ifndef DTNN_LAYERS_PIXELS_SCALE_H_
#define DTNN_LAYERS_PIXELS_SCALE_H_

#include "layers/base/layer.h"

namespace dtnn {

class ScaleLayer : public Layer {
 public:
  explicit ScaleLayer(double factor) : factor_(factor) {}
  static std::shared_ptr<const Layer> FromAttributes(AttributeReader& read);

  std::string_view type_name() const override { return "Scale"; }
  Attributes attributes() const override { return {{"factor", factor_}}; }
  absl::StatusOr<Shape> OutputShape(std::span<const Shape> inputs,
                                    TensorFormat format) const override;
  absl::StatusOr<std::unique_ptr<LayerOp>> Bind(const BindContext& context) const override;
  std::string SettingsCell() const override;

 private:
  double factor_;
};

}  // namespace dtnn

#endif  // DTNN_LAYERS_PIXELS_SCALE_H_
