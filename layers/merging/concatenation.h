// The merging half of a ConcatenationBlock: the outputs of its paths side by side along the
// channels, in path order; the spatial extents must match. Each path receives its channels of dy.

#ifndef DTNN_LAYERS_MERGING_CONCATENATION_H_
#define DTNN_LAYERS_MERGING_CONCATENATION_H_

#include "layers/base/layer.h"

namespace dtnn {

class ConcatenationLayer : public Layer {
 public:
  std::string_view type_name() const override { return "ConcatenationBlock"; }
  absl::StatusOr<Shape> OutputShape(std::span<const Shape> inputs,
                                    TensorFormat format) const override;
  absl::StatusOr<std::unique_ptr<LayerOp>> Bind(const BindContext& context) const override;
};

}  // namespace dtnn

#endif  // DTNN_LAYERS_MERGING_CONCATENATION_H_
