#include "layers/batch_normalization.h"

#include <string>
#include <utility>

#include "kernels/batch_norm/fold.h"
#include "layers/base/shared_statistics.h"
#include "tensor/errors.h"
#include "tensor/rounding.h"

namespace dtnn {
namespace {

using Norm = BatchNormalizationLayer;

class BatchNormalizationOp : public LayerOp {
 public:
  BatchNormalizationOp(std::unique_ptr<BatchNorm> norm, int64_t channels,
                       std::unique_ptr<SharedStatistics> shared, bool of_batch, bool relu)
      : norm_(std::move(norm)),
        channels_(channels),
        shared_(std::move(shared)),
        of_batch_(of_batch),
        relu_(relu) {}

  LayerOpTraits traits() const override {
    return {.backward_reads_input = true,
            .forward_in_place = true,
            .backward_in_place = 0,
            .backward_includes_relu = relu_,
            .changes_statistics = of_batch_,
            .workspace_bytes = norm_->workspace_bytes(),
            .kept_bytes = of_batch_ ? 2 * VectorBytes() : 0};
  }

  absl::Status Keep(std::shared_ptr<Buffer> memory) override {
    const Shape shape = {channels_};
    statistics_ = {.mean = Tensor::View(memory, 0, DType::kFloat64, shape),
                   .variance = Tensor::View(memory, VectorBytes(), DType::kFloat64, shape)};
    return absl::OkStatus();
  }

  absl::Status Forward(const ForwardArgs& args) override {
    const Tensor& x = args.inputs[0];
    const BatchNormParameters parameters = Norm::LineOf(args.parameters);
    const RunningStatistics running = Norm::RunningOf(args.parameters);
    if (!of_batch_) return norm_->Infer(x, parameters, running, args.output, args.workspace);
    if (shared_ == nullptr) {
      return norm_->Normalize(x, statistics_, parameters, running, args.output, args.workspace);
    }
    DTNN_RETURN_IF_ERROR(norm_->Statistics(x, statistics_, args.workspace));
    const int64_t count = x.num_elements() / statistics_.mean.num_elements();
    DTNN_RETURN_IF_ERROR(shared_->Combine(count, statistics_));
    DTNN_RETURN_IF_ERROR(norm_->Track(statistics_, running));
    return norm_->Apply(x, statistics_, parameters, args.output, args.workspace);
  }

  absl::Status Backward(const BackwardArgs& args) override {
    const Tensor& x = args.inputs[0];
    const BatchNormParameters parameters = Norm::LineOf(args.parameters);
    if (!of_batch_) {
      if (args.dx[0].empty()) return absl::OkStatus();
      return norm_->BackwardInfer(x, args.dy, parameters, Norm::RunningOf(args.parameters),
                                  args.dx[0], args.accumulate[0], args.workspace);
    }
    const BatchNormGradients gradients = {.gamma = args.gradients[Norm::kGamma],
                                          .beta = args.gradients[Norm::kBeta]};
    if (shared_ == nullptr && !args.dx[0].empty()) {
      return norm_->Backward(x, args.dy, statistics_, parameters, gradients, args.dx[0],
                             args.accumulate[0], args.workspace);
    }
    DTNN_RETURN_IF_ERROR(
        norm_->Gradients(x, args.dy, statistics_, parameters, gradients, args.workspace));
    if (args.dx[0].empty()) return absl::OkStatus();
    // What the parameters' gradients are is summed over the ranks later, with all others.
    DTNN_ASSIGN_OR_RETURN(const BatchNormGradients sums, shared_->Sum(gradients));
    return norm_->BackwardData(x, args.dy, statistics_, parameters, sums, shared_->count(),
                               args.dx[0], args.accumulate[0], args.workspace);
  }

 private:
  size_t VectorBytes() const {
    return RoundUp(size_t(channels_) * sizeof(double), Buffer::kAlignment);
  }

  std::unique_ptr<BatchNorm> norm_;
  int64_t channels_;
  BatchStatistics statistics_;                // of the last batch, between forward and backward
  std::unique_ptr<SharedStatistics> shared_;  // null: each rank normalises its own samples
  bool of_batch_;  // normalises with the statistics of the batch; else with the running ones
  bool relu_;
};

}  // namespace

BatchNormParameters BatchNormalizationLayer::LineOf(std::span<const ParameterView> parameters) {
  return {.gamma = parameters[kGamma], .beta = parameters[kBeta]};
}
RunningStatistics BatchNormalizationLayer::RunningOf(std::span<const ParameterView> parameters) {
  return {.mean = parameters[kRunningMean], .variance = parameters[kRunningVar]};
}

absl::Status BatchNormalizationLayer::ScaleAndShift(std::span<const ParameterView> parameters,
                                                    const Tensor& bias, const Tensor& scale,
                                                    const Tensor& shift) const {
  FoldBatchNorm(LineOf(parameters), RunningOf(parameters), options_.epsilon, bias, scale, shift);
  return absl::OkStatus();
}

std::shared_ptr<const Layer> BatchNormalizationLayer::FromAttributes(AttributeReader& read) {
  BatchNormalizationOptions options;
  options.momentum = read.Real("momentum");
  options.epsilon = read.Real("epsilon");
  return std::make_shared<BatchNormalizationLayer>(options);
}

Attributes BatchNormalizationLayer::attributes() const {
  return {{"momentum", options_.momentum}, {"epsilon", options_.epsilon}};
}

absl::StatusOr<Shape> BatchNormalizationLayer::OutputShape(std::span<const Shape> inputs,
                                                           TensorFormat /*format*/) const {
  if (inputs.size() != 1 || (inputs[0].rank() != 1 && inputs[0].rank() != 3)) {
    return InvalidArgument("takes one input, an image or a vector, not ", inputs.size(),
                           inputs.empty() ? "" : " of shape " + inputs[0].ToString());
  }
  return inputs[0];
}

std::vector<ParameterSpec> BatchNormalizationLayer::Parameters(std::span<const Shape> inputs,
                                                               TensorFormat format) const {
  const Shape& sample = inputs[0];
  const Shape shape = {sample.rank() == 1 ? sample[0] : ExtentsOf(sample, format).channels};
  const auto layout = sample.rank() == 1 ? ParameterLayout::kFeatures : ParameterLayout::kFixed;
  const auto parameter = [&](std::string name, InitializerKind initializer, bool trainable) {
    return ParameterSpec{.name = std::move(name),
                         .shape = shape,
                         .initializer = {.kind = initializer},
                         .trainable = trainable,
                         .layout = layout};
  };
  return {parameter("beta", InitializerKind::kZeros, true),
          parameter("gamma", InitializerKind::kOnes, true),
          parameter("running_var", InitializerKind::kOnes, false),
          parameter("running_mean", InitializerKind::kZeros, false)};
}

absl::StatusOr<std::unique_ptr<LayerOp>> BatchNormalizationLayer::Bind(
    const BindContext& context) const {
  const Shape& sample = context.inputs[0];
  BatchNormSpec spec = {.batch = context.batch,
                        .channels = sample[0],
                        .format = context.format,
                        .dtype = context.dtype,
                        .epsilon = options_.epsilon,
                        .momentum = options_.momentum,
                        .relu = context.fuse_relu};
  if (sample.rank() == 3) {
    const ImageExtents image = ExtentsOf(sample, context.format);
    spec.positions = image.height * image.width;
    spec.channels = image.channels;
  }
  DTNN_ASSIGN_OR_RETURN(std::unique_ptr<BatchNorm> norm, CreateBatchNorm(*context.device, spec));
  std::unique_ptr<SharedStatistics> shared;
  const bool of_batch = context.training && !context.frozen;
  if (of_batch && context.ranks != nullptr) {
    DTNN_ASSIGN_OR_RETURN(shared, SharedStatistics::Create(*context.ranks, *context.device,
                                                           spec.channels, WideOf(context.dtype)));
  }
  return std::make_unique<BatchNormalizationOp>(std::move(norm), spec.channels, std::move(shared),
                                                of_batch, context.fuse_relu);
}

}  // namespace dtnn
