// Softmax over each group of channels of each pixel, of images: what makes weights of the scores of
// attention, whose heads are the groups. The result has the type of the input, so that it may stand
// before other layers in any type (layers/softmax.h is usually the last).

#ifndef DTNN_LAYERS_CHANNELS_GROUP_SOFTMAX_H_
#define DTNN_LAYERS_CHANNELS_GROUP_SOFTMAX_H_

#include "layers/base/layer.h"

namespace dtnn {

class GroupSoftmaxLayer : public Layer {
 public:
  explicit GroupSoftmaxLayer(int64_t groups = 1) : groups_(groups) {}
  static std::shared_ptr<const Layer> FromAttributes(AttributeReader& read);

  std::string_view type_name() const override { return "GroupSoftmax"; }
  Attributes attributes() const override { return {{"groups", groups_}}; }
  absl::StatusOr<Shape> OutputShape(std::span<const Shape> inputs,
                                    TensorFormat format) const override;
  absl::StatusOr<std::unique_ptr<LayerOp>> Bind(const BindContext& context) const override;
  std::string SettingsCell() const override;

 private:
  int64_t groups_;
};

}  // namespace dtnn

#endif  // DTNN_LAYERS_CHANNELS_GROUP_SOFTMAX_H_
