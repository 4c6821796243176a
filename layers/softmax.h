// Softmax over the features of a sample, or over the channels of each pixel of an image; usually
// the last layer, where the plan fuses it with the cross entropy and its result is float32 in any
// mode; before other layers the result has the type of other values, and is rounded once.

#ifndef DTNN_LAYERS_SOFTMAX_H_
#define DTNN_LAYERS_SOFTMAX_H_

#include "layers/base/layer.h"

namespace dtnn {

class SoftmaxLayer : public Layer {
 public:
  std::string_view type_name() const override { return "Softmax"; }
  absl::StatusOr<Shape> OutputShape(std::span<const Shape> inputs,
                                    TensorFormat format) const override;
  absl::StatusOr<std::unique_ptr<LayerOp>> Bind(const BindContext& context) const override;
};

}  // namespace dtnn

#endif  // DTNN_LAYERS_SOFTMAX_H_
