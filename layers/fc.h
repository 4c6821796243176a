// Fully connected layer: y = x W + b.
//
// Parameters: weights, (in, out); biases, (out,). Gradients: dW = x^T dy, db = sum of dy over the
// batch, dx = dy W^T.

#ifndef DTNN_LAYERS_FC_H_
#define DTNN_LAYERS_FC_H_

#include "layers/base/layer.h"

namespace dtnn {

struct FcOptions {
  bool bias = true;
  InitializerKind initializer = InitializerKind::kGlorotUniform;
};

class FcLayer : public Layer {
 public:
  explicit FcLayer(int64_t outputs, const FcOptions& options = {})
      : outputs_(outputs), options_(options) {}
  // L: this one, or a kind of it.
  template <typename L>
  static std::shared_ptr<const Layer> FromAttributes(AttributeReader& read) {
    const int64_t outputs = read.Int("outputs");
    FcOptions options;
    options.bias = read.Switch("bias");
    options.initializer = read.Word("initializer", ParseInitializerKind);
    return std::make_shared<L>(outputs, options);
  }

  std::string_view type_name() const override { return "FC"; }
  Attributes attributes() const override;
  absl::StatusOr<Shape> OutputShape(std::span<const Shape> inputs,
                                    TensorFormat format) const override;
  std::vector<ParameterSpec> Parameters(std::span<const Shape> inputs,
                                        TensorFormat format) const override;
  absl::StatusOr<std::unique_ptr<LayerOp>> Bind(const BindContext& context) const override;
  int64_t MultiplyAdds(std::span<const Shape> inputs, TensorFormat /*format*/) const override {
    return inputs[0][0] * outputs_;
  }
  Epilogue absorbs() const override { return {.relu = true}; }

 private:
  int64_t outputs_;
  FcOptions options_;
};

}  // namespace dtnn

#endif  // DTNN_LAYERS_FC_H_
