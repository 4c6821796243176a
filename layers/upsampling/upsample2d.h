// Images made larger by whole factors, by nearest neighbours or bilinear interpolation; formulas in
// kernels/resize/resize.h. PyTorch's Upsample, Keras' UpSampling2D.

#ifndef DTNN_LAYERS_UPSAMPLING_UPSAMPLE2D_H_
#define DTNN_LAYERS_UPSAMPLING_UPSAMPLE2D_H_

#include <optional>
#include <string>
#include <string_view>

#include "kernels/operands/pair.h"
#include "kernels/resize/resize.h"
#include "layers/base/layer.h"

namespace dtnn {

struct Upsample2dOptions {
  Pair scale = 2;
  ResizeMode mode = ResizeMode::kNearest;
  bool align_corners = false;  // of kLinear
};

// "nearest" and "bilinear".
std::string_view Name(ResizeMode mode);
std::optional<ResizeMode> ParseResizeMode(std::string_view name);

class Upsample2dLayer : public Layer {
 public:
  explicit Upsample2dLayer(const Upsample2dOptions& options) : options_(options) {}
  static std::shared_ptr<const Layer> FromAttributes(AttributeReader& read);

  std::string_view type_name() const override { return "Upsample2D"; }
  Attributes attributes() const override;
  absl::StatusOr<Shape> OutputShape(std::span<const Shape> inputs,
                                    TensorFormat format) const override;
  absl::StatusOr<std::unique_ptr<LayerOp>> Bind(const BindContext& context) const override;
  std::string SettingsCell() const override;

 private:
  ResizeSpec Spec(const Shape& input, TensorFormat format) const;

  Upsample2dOptions options_;
};

}  // namespace dtnn

#endif  // DTNN_LAYERS_UPSAMPLING_UPSAMPLE2D_H_
