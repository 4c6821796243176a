// Average pooling to an output of a given size, whatever the size of the image; semantics in
// kernels/pool/adaptive_pool.h.

#ifndef DTNN_LAYERS_ADAPTIVE_AVERAGE_POOL2D_H_
#define DTNN_LAYERS_ADAPTIVE_AVERAGE_POOL2D_H_

#include "kernels/operands/pair.h"
#include "kernels/pool/adaptive_pool.h"
#include "layers/base/layer.h"

namespace dtnn {

class AdaptiveAveragePool2dLayer : public Layer {
 public:
  explicit AdaptiveAveragePool2dLayer(const Pair& output) : output_(output) {}
  static std::shared_ptr<const Layer> FromAttributes(AttributeReader& read);

  std::string_view type_name() const override { return "AdaptiveAveragePool2D"; }
  Attributes attributes() const override;
  absl::StatusOr<Shape> OutputShape(std::span<const Shape> inputs,
                                    TensorFormat format) const override;
  absl::StatusOr<std::unique_ptr<LayerOp>> Bind(const BindContext& context) const override;
  // The size of the output: the windows may differ from each other.
  std::string WeightsCell(std::span<const Shape> inputs, TensorFormat format) const override;

 private:
  AdaptivePoolSpec Spec(const Shape& input, TensorFormat format) const;

  Pair output_;
};

}  // namespace dtnn

#endif  // DTNN_LAYERS_ADAPTIVE_AVERAGE_POOL2D_H_
