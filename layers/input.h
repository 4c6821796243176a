// The first layer: declares the shape of a sample, in (h, w, c) order whatever the tensor format.

#ifndef DTNN_LAYERS_INPUT_H_
#define DTNN_LAYERS_INPUT_H_

#include "layers/base/layer.h"

namespace dtnn {

class InputLayer : public Layer {
 public:
  explicit InputLayer(const ImageExtents& sample) : sample_(sample) {}
  static std::shared_ptr<const Layer> FromAttributes(AttributeReader& read);

  std::string_view type_name() const override { return "Input"; }
  Attributes attributes() const override;
  absl::StatusOr<Shape> OutputShape(std::span<const Shape> inputs,
                                    TensorFormat format) const override;
  // An input is filled by the plan: there is nothing to run.
  absl::StatusOr<std::unique_ptr<LayerOp>> Bind(const BindContext& context) const override;

 private:
  ImageExtents sample_;
};

}  // namespace dtnn

#endif  // DTNN_LAYERS_INPUT_H_
