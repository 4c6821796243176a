// Some of the pixels of an image: `count` of them, from pixel `begin` on, counted row by row; they
// stand in one row from then on. Vision transformers read their classes from one, the class token.
//
//   (height, width, channels) -> (1, count, channels)

#ifndef DTNN_LAYERS_PIXELS_PIXEL_SLICE_H_
#define DTNN_LAYERS_PIXELS_PIXEL_SLICE_H_

#include "layers/base/layer.h"

namespace dtnn {

class PixelSliceLayer : public Layer {
 public:
  PixelSliceLayer(int64_t begin, int64_t count) : begin_(begin), count_(count) {}
  static std::shared_ptr<const Layer> FromAttributes(AttributeReader& read);

  std::string_view type_name() const override { return "PixelSlice"; }
  Attributes attributes() const override { return {{"begin", begin_}, {"count", count_}}; }
  absl::StatusOr<Shape> OutputShape(std::span<const Shape> inputs,
                                    TensorFormat format) const override;
  absl::StatusOr<std::unique_ptr<LayerOp>> Bind(const BindContext& context) const override;
  std::string SettingsCell() const override;

 private:
  int64_t begin_, count_;
};

}  // namespace dtnn

#endif  // DTNN_LAYERS_PIXELS_PIXEL_SLICE_H_
