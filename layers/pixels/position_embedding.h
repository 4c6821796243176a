// A learned number for each element of an image, added to it: what tells the pixels apart in
// networks that treat them alike, such as transformers (Vaswani et al., 2017).
//
// Its gradient is the sum of dy over the samples.

#ifndef DTNN_LAYERS_PIXELS_POSITION_EMBEDDING_H_
#define DTNN_LAYERS_PIXELS_POSITION_EMBEDDING_H_

#include "layers/base/layer.h"

namespace dtnn {

class PositionEmbeddingLayer : public Layer {
 public:
  std::string_view type_name() const override { return "PositionEmbedding"; }
  absl::StatusOr<Shape> OutputShape(std::span<const Shape> inputs,
                                    TensorFormat format) const override;
  // The elements of an image in the order of the format, at first with a standard deviation of
  // 0.02.
  std::vector<ParameterSpec> Parameters(std::span<const Shape> inputs,
                                        TensorFormat format) const override;
  absl::StatusOr<std::unique_ptr<LayerOp>> Bind(const BindContext& context) const override;
};

}  // namespace dtnn

#endif  // DTNN_LAYERS_PIXELS_POSITION_EMBEDDING_H_
