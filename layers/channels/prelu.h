// A relu whose slope below 0 is trained, for each channel or one for all; formulas in
// kernels/prelu/prelu.h. Slopes are 0.25 at first, as PyTorch's are.

#ifndef DTNN_LAYERS_CHANNELS_PRELU_H_
#define DTNN_LAYERS_CHANNELS_PRELU_H_

#include "layers/base/layer.h"

namespace dtnn {

class PReluLayer : public Layer {
 public:
  // `per_channel`: or for each feature, where the input is a vector.
  explicit PReluLayer(bool per_channel) : per_channel_(per_channel) {}
  static std::shared_ptr<const Layer> FromAttributes(AttributeReader& read);

  std::string_view type_name() const override { return "PRelu"; }
  Attributes attributes() const override { return {{"per_channel", int64_t{per_channel_}}}; }
  absl::StatusOr<Shape> OutputShape(std::span<const Shape> inputs,
                                    TensorFormat format) const override;
  std::vector<ParameterSpec> Parameters(std::span<const Shape> inputs,
                                        TensorFormat format) const override;
  absl::StatusOr<std::unique_ptr<LayerOp>> Bind(const BindContext& context) const override;
  std::string SettingsCell() const override { return per_channel_ ? "" : "one slope"; }

 private:
  // How many slopes there are.
  int64_t Slopes(const Shape& sample, TensorFormat format) const;

  bool per_channel_;
};

}  // namespace dtnn

#endif  // DTNN_LAYERS_CHANNELS_PRELU_H_
