// How alike each pixel of one image is to each pixel of another: the first half of attention
// (Vaswani et al., 2017), of two paths, queries and keys, images of the same channels.
//
// The result has the pixels of the queries, and a channel for each pixel of the keys: factor times
// the sum over channels of their products. `heads` groups of channels, each as large as the others,
// have results of their own, one after the other: heads * pixels of the keys channels. A
// GroupSoftmax over these groups makes weights of them, and a WeightedSum reads those.

#ifndef DTNN_LAYERS_MERGING_SCORES_H_
#define DTNN_LAYERS_MERGING_SCORES_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "layers/base/layer.h"

namespace dtnn {

struct ScoresOptions {
  int64_t heads = 1;
  double factor = 1;  // 1 / sqrt(channels of a head) is usual
};

class ScoresLayer : public Layer {
 public:
  explicit ScoresLayer(const ScoresOptions& options = {}) : options_(options) {}
  static std::shared_ptr<const Layer> FromAttributes(AttributeReader& read);

  std::string_view type_name() const override { return "ScoresBlock"; }
  Attributes attributes() const override;
  absl::StatusOr<Shape> OutputShape(std::span<const Shape> inputs,
                                    TensorFormat format) const override;
  absl::StatusOr<std::unique_ptr<LayerOp>> Bind(const BindContext& context) const override;
  int64_t MultiplyAdds(std::span<const Shape> inputs, TensorFormat format) const override;
  std::string SettingsCell() const override;

 private:
  ScoresOptions options_;
};

}  // namespace dtnn

#endif  // DTNN_LAYERS_MERGING_SCORES_H_
