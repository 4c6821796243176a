// Batch normalisation (Ioffe & Szegedy, ICML 2015) per channel of an image, or per feature of a
// vector; semantics in kernels/batch_norm/batch_norm.h.
//
// Parameters, each (channels,): beta and gamma, which training changes by gradients; running_var
// (from 1) and running_mean (from 0), which a forward pass of training moves towards the statistics
// of its batch and evaluation uses. Frozen, it uses and keeps them in training too.
//
// A sum and a relu after it become a part of it, forward and backward; on a GPU, in training, so
// does another one whose output is added (layers/normalization/normalized_sum.h).

#ifndef DTNN_LAYERS_NORMALIZATION_BATCH_NORMALIZATION_H_
#define DTNN_LAYERS_NORMALIZATION_BATCH_NORMALIZATION_H_

#include "kernels/batch_norm/batch_norm.h"
#include "layers/base/layer.h"

namespace dtnn {

struct BatchNormalizationOptions {
  double momentum = 0.9;  // running = momentum * running + (1 - momentum) * batch
  double epsilon = 1e-5;  // added to the variance, under the root
};

class BatchNormalizationLayer : public Layer {
 public:
  explicit BatchNormalizationLayer(const BatchNormalizationOptions& options = {})
      : options_(options) {}

  // The positions of its parameters.
  enum Parameter : uint8_t { kBeta, kGamma, kRunningVar, kRunningMean };
  static std::shared_ptr<const Layer> FromAttributes(AttributeReader& read);

  std::string_view type_name() const override { return "BatchNormalization"; }
  Attributes attributes() const override;
  absl::StatusOr<Shape> OutputShape(std::span<const Shape> inputs,
                                    TensorFormat format) const override;
  std::vector<ParameterSpec> Parameters(std::span<const Shape> inputs,
                                        TensorFormat format) const override;
  absl::StatusOr<std::unique_ptr<LayerOp>> Bind(const BindContext& context) const override;
  Epilogue absorbs() const override { return {.add = true, .relu = true}; }
  Epilogue absorbable() const override { return {.scale = true}; }
  bool CanComputeAddend(const Layer& other) const override {
    return dynamic_cast<const BatchNormalizationLayer*>(&other) != nullptr;
  }
  absl::Status ScaleAndShift(std::span<const ParameterView> parameters, const Tensor& bias,
                             const Tensor& scale, const Tensor& shift) const override;

  // Its parameters, in the order of Parameter, as the kernels take them.
  static BatchNormParameters LineOf(std::span<const ParameterView> parameters);
  static RunningStatistics RunningOf(std::span<const ParameterView> parameters);

 private:
  BatchNormSpec SpecOf(const BindContext& context) const;

  BatchNormalizationOptions options_;
};

}  // namespace dtnn

#endif  // DTNN_LAYERS_NORMALIZATION_BATCH_NORMALIZATION_H_
