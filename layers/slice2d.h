// Some rows and columns of images: a crop, or every n-th pixel (kernels/image_slice/image_slice.h).
// YOLO's focus is four of them, of every second pixel, whose channels are concatenated.
//
//   (height, width, channels) -> (count.vertical, count.horizontal, channels)

#ifndef DTNN_LAYERS_SLICE2D_H_
#define DTNN_LAYERS_SLICE2D_H_

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "kernels/image_slice/image_slice.h"
#include "kernels/operands/pair.h"
#include "layers/base/layer.h"

namespace dtnn {

struct Slice2dOptions {
  Pair begin = {0, 0};  // the first row and column
  Pair count = {0, 0};  // rows and columns of the output; 0: as many as there are
  Pair step = {1, 1};   // from one to the next
};

class Slice2dLayer : public Layer {
 public:
  explicit Slice2dLayer(const Slice2dOptions& options) : options_(options) {}
  static std::shared_ptr<const Layer> FromAttributes(AttributeReader& read);

  std::string_view type_name() const override { return "Slice2D"; }
  Attributes attributes() const override;
  absl::StatusOr<Shape> OutputShape(std::span<const Shape> inputs,
                                    TensorFormat format) const override;
  absl::StatusOr<std::unique_ptr<LayerOp>> Bind(const BindContext& context) const override;
  std::string SettingsCell() const override;

 private:
  ImageSliceSpec SpecOf(const Shape& input, TensorFormat format) const;

  Slice2dOptions options_;
};

}  // namespace dtnn

#endif  // DTNN_LAYERS_SLICE2D_H_
