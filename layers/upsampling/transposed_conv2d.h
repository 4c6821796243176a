// Transposed convolution, with an optional bias: what makes images larger with weights that are
// learnt. It is the gradient of a convolution with these options with respect to its input
// (kernels/conv/conv2d.h), and has this as its forward pass:
//
//   out = (in - 1) * stride - 2 * padding + dilation * (kernel - 1) + 1 + output_padding   per axis
//   y[n,oh,ow,f] = bias[f] + sum of x[n,ih,iw,c] * w[f,kh,kw,c] over all that have
//                  oh = ih * stride - padding + kh * dilation, and likewise ow
//
// Weights: (filters, kh, kw, channels) in NHWC, (channels, filters, kh, kw) in NCHW, as PyTorch's
// ConvTranspose2d has them; with `groups`, filters / groups of them. Biases: (filters,).

#ifndef DTNN_LAYERS_UPSAMPLING_TRANSPOSED_CONV2D_H_
#define DTNN_LAYERS_UPSAMPLING_TRANSPOSED_CONV2D_H_

#include "kernels/conv/conv2d_spec.h"
#include "kernels/operands/pair.h"
#include "layers/base/layer.h"

namespace dtnn {

struct TransposedConv2dOptions {
  // output_padding: rows and columns at the end, where several sizes would have made the same
  // input; less than the stride.
  Pair kernel = 3, stride = 1, padding = 0, output_padding = 0, dilation = 1;
  bool bias = true;
  InitializerKind initializer = InitializerKind::kGlorotUniform;
  int64_t groups = 1;
};

class TransposedConv2dLayer : public Layer {
 public:
  TransposedConv2dLayer(int64_t filters, const TransposedConv2dOptions& options)
      : filters_(filters), options_(options) {}
  static std::shared_ptr<const Layer> FromAttributes(AttributeReader& read);

  std::string_view type_name() const override { return "TransposedConv2D"; }
  Attributes attributes() const override;
  absl::StatusOr<Shape> OutputShape(std::span<const Shape> inputs,
                                    TensorFormat format) const override;
  std::vector<ParameterSpec> Parameters(std::span<const Shape> inputs,
                                        TensorFormat format) const override;
  absl::StatusOr<std::unique_ptr<LayerOp>> Bind(const BindContext& context) const override;
  int64_t MultiplyAdds(std::span<const Shape> inputs, TensorFormat format) const override;
  std::string SettingsCell() const override;

 private:
  // The convolution of whose gradient it is, of one sample: from this layer's output to its input.
  Conv2dSpec Spec(const Shape& input, TensorFormat format) const;

  int64_t filters_;
  TransposedConv2dOptions options_;
};

}  // namespace dtnn

#endif  // DTNN_LAYERS_UPSAMPLING_TRANSPOSED_CONV2D_H_
