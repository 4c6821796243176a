// Max and average pooling; semantics in kernels/pool/pool.h. A window extent of 0 means the whole
// extent of that axis (global pooling). Stride defaults to 1, as in the zoo's tables.

#ifndef DTNN_LAYERS_POOL2D_H_
#define DTNN_LAYERS_POOL2D_H_

#include "kernels/operands/pair.h"
#include "kernels/pool/pool.h"
#include "layers/base/layer.h"

namespace dtnn {

struct Pool2dOptions {
  Pair window = 2, stride = 1, padding = 0, dilation = 1;
  bool ceil = false;           // the number of windows is rounded up
  bool count_padding = false;  // a mean counts padding, as zeros
};

class Pool2dLayer : public Layer {
 public:
  Pool2dLayer(PoolKind kind, const Pool2dOptions& options) : kind_(kind), options_(options) {}
  static std::shared_ptr<const Layer> FromAttributes(PoolKind kind, AttributeReader& read);

  std::string_view type_name() const override {
    return kind_ == PoolKind::kMax ? "MaxPool2D" : "AveragePool2D";
  }
  Attributes attributes() const override;
  absl::StatusOr<Shape> OutputShape(std::span<const Shape> inputs,
                                    TensorFormat format) const override;
  absl::StatusOr<std::unique_ptr<LayerOp>> Bind(const BindContext& context) const override;
  bool CanApplyReluGradient() const override { return kind_ == PoolKind::kMax; }
  std::string WeightsCell(std::span<const Shape> inputs, TensorFormat format) const override;
  std::string SettingsCell() const override;
  PoolKind kind() const { return kind_; }
  // What it computes of one sample.
  PoolSpec Spec(const Shape& input, TensorFormat format) const;

 private:
  PoolKind kind_;
  Pool2dOptions options_;
};

}  // namespace dtnn

#endif  // DTNN_LAYERS_POOL2D_H_
