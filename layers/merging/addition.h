// The merging half of an AdditionBlock: the sum of the outputs of its paths, which must have equal
// shapes. Each path receives dy.

#ifndef DTNN_LAYERS_MERGING_ADDITION_H_
#define DTNN_LAYERS_MERGING_ADDITION_H_

#include "layers/base/layer.h"

namespace dtnn {

class AdditionLayer : public Layer {
 public:
  std::string_view type_name() const override { return "AdditionBlock"; }
  absl::StatusOr<Shape> OutputShape(std::span<const Shape> inputs,
                                    TensorFormat format) const override;
  absl::StatusOr<std::unique_ptr<LayerOp>> Bind(const BindContext& context) const override;
  Epilogue absorbable() const override { return {.add = true}; }
};

}  // namespace dtnn

#endif  // DTNN_LAYERS_MERGING_ADDITION_H_
