// A fully connected layer on an image, which it reads as the vector that it is in memory: Flatten
// and FC under one id, for networks whose weight keys were counted that way.
//
// The image must be dense: the output of a layer, not one path of a concatenation.

#ifndef DTNN_LAYERS_IMAGE_FC_H_
#define DTNN_LAYERS_IMAGE_FC_H_

#include "layers/fc.h"

namespace dtnn {

class ImageFcLayer : public FcLayer {
 public:
  using FcLayer::FcLayer;

  Attributes attributes() const override;
  absl::StatusOr<Shape> OutputShape(std::span<const Shape> inputs,
                                    TensorFormat format) const override;
  std::vector<ParameterSpec> Parameters(std::span<const Shape> inputs,
                                        TensorFormat format) const override;
  absl::StatusOr<std::unique_ptr<LayerOp>> Bind(const BindContext& context) const override;
  int64_t MultiplyAdds(std::span<const Shape> inputs, TensorFormat format) const override;
};

}  // namespace dtnn

#endif  // DTNN_LAYERS_IMAGE_FC_H_
