// Images with more rows and columns around them, of a constant, mirrored, or of the pixels at the
// edge (kernels/pad/pad.h): PyTorch's ZeroPad2d, ReflectionPad2d and ReplicationPad2d. The padding
// of convolutions and poolings is theirs, and costs nothing.

#ifndef DTNN_LAYERS_PAD2D_H_
#define DTNN_LAYERS_PAD2D_H_

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "kernels/operands/pair.h"
#include "kernels/pad/pad.h"
#include "layers/base/layer.h"

namespace dtnn {

struct Pad2dOptions {
  Pair before = {0, 0};  // rows at the top, columns at the left
  Pair after = {0, 0};   // rows at the bottom, columns at the right
  PadMode mode = PadMode::kConstant;
  double value = 0;  // of kConstant
};

class Pad2dLayer : public Layer {
 public:
  explicit Pad2dLayer(const Pad2dOptions& options) : options_(options) {}
  static std::shared_ptr<const Layer> FromAttributes(AttributeReader& read);

  std::string_view type_name() const override { return "Pad2D"; }
  Attributes attributes() const override;
  absl::StatusOr<Shape> OutputShape(std::span<const Shape> inputs,
                                    TensorFormat format) const override;
  absl::StatusOr<std::unique_ptr<LayerOp>> Bind(const BindContext& context) const override;
  std::string SettingsCell() const override;

 private:
  PadSpec SpecOf(const Shape& input, TensorFormat format) const;

  Pad2dOptions options_;
};

}  // namespace dtnn

#endif  // DTNN_LAYERS_PAD2D_H_
