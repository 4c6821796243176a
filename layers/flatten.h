// An image as a vector, row-major in the tensor format: (h, w, c) or (c, h, w) order. Costs
// nothing: the output is a view of the input.

#ifndef DTNN_LAYERS_FLATTEN_H_
#define DTNN_LAYERS_FLATTEN_H_

#include "layers/base/layer.h"

namespace dtnn {

class FlattenLayer : public Layer {
 public:
  std::string_view type_name() const override { return "Flatten"; }
  absl::StatusOr<Shape> OutputShape(std::span<const Shape> inputs,
                                    TensorFormat format) const override;
  absl::StatusOr<std::unique_ptr<LayerOp>> Bind(const BindContext& context) const override;
};

}  // namespace dtnn

#endif  // DTNN_LAYERS_FLATTEN_H_
