// The merging half of a MultiplicationBlock: the output of its first path, an image, times that of
// its second, which has one pixel: a factor for each channel. Squeeze-and-excitation (Hu et al.,
// 2018) is a block of the image itself and of what is computed from its mean.

#ifndef DTNN_LAYERS_MERGING_MULTIPLICATION_H_
#define DTNN_LAYERS_MERGING_MULTIPLICATION_H_

#include "layers/base/layer.h"

namespace dtnn {

class MultiplicationLayer : public Layer {
 public:
  std::string_view type_name() const override { return "MultiplicationBlock"; }
  absl::StatusOr<Shape> OutputShape(std::span<const Shape> inputs,
                                    TensorFormat format) const override;
  absl::StatusOr<std::unique_ptr<LayerOp>> Bind(const BindContext& context) const override;
};

}  // namespace dtnn

#endif  // DTNN_LAYERS_MERGING_MULTIPLICATION_H_
