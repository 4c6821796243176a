// For each pixel of its first path a weighted sum of the pixels of its second: the last half of
// attention (Vaswani et al., 2017), of weights and values.
//
// The weights have a channel for each pixel of the values, as Scores makes them: heads * pixels of
// the values, whose h-th part weighs the h-th of `heads` groups of channels. The result has the
// pixels of the weights and the channels of the values.

#ifndef DTNN_LAYERS_MERGING_WEIGHTED_SUM_H_
#define DTNN_LAYERS_MERGING_WEIGHTED_SUM_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "layers/base/layer.h"

namespace dtnn {

class WeightedSumLayer : public Layer {
 public:
  explicit WeightedSumLayer(int64_t heads = 1) : heads_(heads) {}
  static std::shared_ptr<const Layer> FromAttributes(AttributeReader& read);

  std::string_view type_name() const override { return "WeightedSumBlock"; }
  Attributes attributes() const override { return {{"heads", heads_}}; }
  absl::StatusOr<Shape> OutputShape(std::span<const Shape> inputs,
                                    TensorFormat format) const override;
  absl::StatusOr<std::unique_ptr<LayerOp>> Bind(const BindContext& context) const override;
  int64_t MultiplyAdds(std::span<const Shape> inputs, TensorFormat format) const override;
  std::string SettingsCell() const override;

 private:
  int64_t heads_;
};

}  // namespace dtnn

#endif  // DTNN_LAYERS_MERGING_WEIGHTED_SUM_H_
