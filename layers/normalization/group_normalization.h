// Normalisation of images within each sample (kernels/group_norm/group_norm.h): group normalisation
// (Wu & He, ECCV 2018), and the layer normalisation of each pixel over its channels that ConvNeXt
// has. It does the same in training and evaluation, whatever the batch.
//
// Parameters, each (channels,): beta (from 0) and gamma (from 1).

#ifndef DTNN_LAYERS_NORMALIZATION_GROUP_NORMALIZATION_H_
#define DTNN_LAYERS_NORMALIZATION_GROUP_NORMALIZATION_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "layers/base/layer.h"

namespace dtnn {

struct GroupNormalizationOptions {
  int64_t groups = 1;      // of channels; they are divided evenly
  bool per_pixel = false;  // each pixel by itself, not all of them together
  double epsilon = 1e-5;   // added to the variance, under the root
};

class GroupNormalizationLayer : public Layer {
 public:
  explicit GroupNormalizationLayer(const GroupNormalizationOptions& options = {})
      : options_(options) {}

  // The positions of its parameters.
  enum Parameter : uint8_t { kBeta, kGamma };
  static std::shared_ptr<const Layer> FromAttributes(AttributeReader& read);

  std::string_view type_name() const override { return "GroupNormalization"; }
  Attributes attributes() const override;
  absl::StatusOr<Shape> OutputShape(std::span<const Shape> inputs,
                                    TensorFormat format) const override;
  std::vector<ParameterSpec> Parameters(std::span<const Shape> inputs,
                                        TensorFormat format) const override;
  absl::StatusOr<std::unique_ptr<LayerOp>> Bind(const BindContext& context) const override;
  std::string SettingsCell() const override;

 private:
  GroupNormalizationOptions options_;
};

}  // namespace dtnn

#endif  // DTNN_LAYERS_NORMALIZATION_GROUP_NORMALIZATION_H_
