// Two-dimensional convolution with an optional bias; semantics in kernels/conv/conv2d.h.
//
//   grouping     weights in NHWC                    weights in NCHW
//   standard     (channels, kh, kw, filters)        (filters, channels, kh, kw)
//   depthwise    (channels, kh, kw)                 the same: one filter per channel
//   pointwise    (channels, filters)                (filters, channels): a 1 x 1 kernel
//
// With `groups`, which a standard one may have, a filter reads the channels of its group alone, and
// weights have channels / groups of them. All have biases, (filters,). A depthwise layer has as
// many filters as its input has channels, whatever the number it is given; a pointwise one is a
// standard one whose kernel is 1 x 1, whatever the options say. Stride and padding apply to all.

#ifndef DTNN_LAYERS_CONV2D_H_
#define DTNN_LAYERS_CONV2D_H_

#include "kernels/conv/conv2d.h"
#include "kernels/operands/pair.h"
#include "layers/base/layer.h"

namespace dtnn {

enum class ConvGrouping : uint8_t { kStandard, kDepthwise, kPointwise };

struct Conv2dOptions {
  Pair kernel = 3, stride = 1, padding = 0, dilation = 1;
  bool bias = true;
  ConvGrouping grouping = ConvGrouping::kStandard;
  InitializerKind initializer = InitializerKind::kGlorotUniform;
  int64_t groups = 1;
};

class Conv2dLayer : public Layer {
 public:
  Conv2dLayer(int64_t filters, const Conv2dOptions& options)
      : filters_(filters), options_(options) {}
  static std::shared_ptr<const Layer> FromAttributes(AttributeReader& read);

  std::string_view type_name() const override { return "Conv2D"; }
  Attributes attributes() const override;
  absl::StatusOr<Shape> OutputShape(std::span<const Shape> inputs,
                                    TensorFormat format) const override;
  std::vector<ParameterSpec> Parameters(std::span<const Shape> inputs,
                                        TensorFormat format) const override;
  absl::StatusOr<std::unique_ptr<LayerOp>> Bind(const BindContext& context) const override;
  int64_t MultiplyAdds(std::span<const Shape> inputs, TensorFormat format) const override;
  Epilogue absorbs() const override { return {.scale = true, .add = true, .relu = true}; }
  std::string SettingsCell() const override;
  // What it computes of one sample.
  Conv2dSpec Spec(const Shape& input, TensorFormat format) const;

 private:
  int64_t Filters(const Shape& input, TensorFormat format) const;

  int64_t filters_;
  Conv2dOptions options_;
};

}  // namespace dtnn

#endif  // DTNN_LAYERS_CONV2D_H_
