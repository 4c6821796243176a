// Learned pixels before those of an image, which stand in one row from then on: the class token of
// vision transformers (Dosovitskiy et al., "An Image is Worth 16x16 Words", ICLR 2021), or several.
//
//   (height, width, channels) -> (1, count + height * width, channels)
//
// They are the same for each sample. Their gradients are the sums of those of the first pixels.

#ifndef DTNN_LAYERS_PIXELS_CLASS_TOKEN_H_
#define DTNN_LAYERS_PIXELS_CLASS_TOKEN_H_

#include "layers/base/layer.h"

namespace dtnn {

class ClassTokenLayer : public Layer {
 public:
  explicit ClassTokenLayer(int64_t count = 1) : count_(count) {}
  static std::shared_ptr<const Layer> FromAttributes(AttributeReader& read);

  std::string_view type_name() const override { return "ClassToken"; }
  Attributes attributes() const override { return {{"count", count_}}; }
  absl::StatusOr<Shape> OutputShape(std::span<const Shape> inputs,
                                    TensorFormat format) const override;
  // (count * channels), pixel by pixel in either format; zeros at first.
  std::vector<ParameterSpec> Parameters(std::span<const Shape> inputs,
                                        TensorFormat format) const override;
  absl::StatusOr<std::unique_ptr<LayerOp>> Bind(const BindContext& context) const override;
  std::string SettingsCell() const override;

 private:
  int64_t count_;
};

}  // namespace dtnn

#endif  // DTNN_LAYERS_PIXELS_CLASS_TOKEN_H_
