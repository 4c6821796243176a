#include "layers/normalization/batch_normalization.h"

#include <cmath>
#include <string>
#include <utility>

#include "kernels/add/add.h"
#include "kernels/batch_norm/fold.h"
#include "layers/base/shared_statistics.h"
#include "layers/normalization/normalized_sum.h"
#include "tensor/errors.h"
#include "tensor/rounding.h"

namespace dtnn {
namespace {

using Norm = BatchNormalizationLayer;

class BatchNormalizationOp : public LayerOp {
 public:
  BatchNormalizationOp(std::unique_ptr<BatchNorm> norm, const BatchNormSpec& spec,
                       std::unique_ptr<Add> add, std::unique_ptr<SharedStatistics> shared,
                       bool of_batch)
      : norm_(std::move(norm)),
        spec_(spec),
        add_(std::move(add)),
        shared_(std::move(shared)),
        of_batch_(of_batch) {}

  LayerOpTraits traits() const override {
    return {.backward_reads_input = true,
            .backward_reads_output = spec_.cuts_by_output() && !keeps_signs(),
            .forward_in_place = true,
            .backward_in_place = 0,
            .backward_over_output = spec_.cuts_by_output(),
            .backward_includes_fused = true,
            .changes_statistics = of_batch_,
            .state_shape = keeps_signs() ? Shape{norm_->signs_bytes()} : Shape(),
            .workspace_bytes = norm_->workspace_bytes(),
            .kept_bytes = of_batch_ ? 2 * VectorBytes() : 0};
  }

  absl::Status Keep(std::shared_ptr<Buffer> memory) override {
    const Shape shape = {spec_.channels};
    statistics_ = {.mean = Tensor::View(memory, 0, DType::kFloat64, shape),
                   .variance = Tensor::View(memory, VectorBytes(), DType::kFloat64, shape)};
    return absl::OkStatus();
  }

  absl::Status Forward(const ForwardArgs& args) override {
    const Tensor& x = args.inputs[0];
    const BatchNormParameters parameters = Norm::LineOf(args.parameters);
    const RunningStatistics running = Norm::RunningOf(args.parameters);
    const Tensor addend = spec_.add ? args.inputs.back() : Tensor();
    const BatchNormOutput out = {args.output, args.state};
    if (!of_batch_) {
      return norm_->Infer(x, parameters, running, addend, out, args.workspace);
    }
    if (shared_ == nullptr) {
      return norm_->Normalize(x, statistics_, parameters, running, addend, out, args.workspace);
    }
    DTNN_RETURN_IF_ERROR(norm_->Statistics(x, statistics_, args.workspace));
    const int64_t count = x.num_elements() / statistics_.mean.num_elements();
    DTNN_RETURN_IF_ERROR(shared_->Combine(count, statistics_));
    DTNN_RETURN_IF_ERROR(norm_->Track(statistics_, running));
    return norm_->Apply(x, statistics_, parameters, addend, out, args.workspace);
  }

  absl::Status Backward(const BackwardArgs& args) override {
    const Tensor& dx = args.dx[0];
    // Where the gradient of x takes dy's memory, the addend's comes first, which is dy.
    const bool overwrites = spec_.add && !dx.empty() && dx.raw_data() == args.dy.raw_data();
    if (!dx.empty() && !overwrites) {
      DTNN_RETURN_IF_ERROR(of_batch_ ? BackwardOfBatch(args) : BackwardInfer(args, dx));
      return PassToAddend(args);
    }
    if (of_batch_) {
      DTNN_RETURN_IF_ERROR(Gradients(args));
    } else if (spec_.cuts_by_output()) {
      DTNN_RETURN_IF_ERROR(BackwardInfer(args, Tensor()));
    }
    DTNN_RETURN_IF_ERROR(PassToAddend(args));
    if (dx.empty()) return absl::OkStatus();
    return of_batch_ ? BackwardData(args) : BackwardInfer(args, dx);
  }

 private:
  size_t VectorBytes() const {
    return RoundUp(size_t(spec_.channels) * sizeof(double), Buffer::kAlignment);
  }

  bool keeps_signs() const { return norm_->signs_bytes() > 0; }
  static BatchNormOutput OutputOf(const BackwardArgs& args) { return {args.output, args.state}; }

  static BatchNormGradients GradientsOf(const BackwardArgs& args) {
    return {.gamma = args.gradients[Norm::kGamma], .beta = args.gradients[Norm::kBeta]};
  }
  absl::Status Gradients(const BackwardArgs& args) {
    return norm_->Gradients(args.inputs[0], OutputOf(args), args.dy, statistics_,
                            Norm::LineOf(args.parameters), GradientsOf(args), args.workspace);
  }
  absl::Status BackwardData(const BackwardArgs& args) {
    const Tensor& x = args.inputs[0];
    int64_t count = x.num_elements() / spec_.channels;
    // What the parameters' gradients are is summed over the ranks later, with all others.
    BatchNormGradients sums = GradientsOf(args);
    if (shared_ != nullptr) {
      DTNN_ASSIGN_OR_RETURN(sums, shared_->Sum(sums));
      count = shared_->count();
    }
    return norm_->BackwardData(x, args.dy, statistics_, Norm::LineOf(args.parameters), sums, count,
                               args.dx[0], args.accumulate[0], args.workspace);
  }
  absl::Status BackwardOfBatch(const BackwardArgs& args) {
    if (shared_ == nullptr) {
      return norm_->Backward(args.inputs[0], OutputOf(args), args.dy, statistics_,
                             Norm::LineOf(args.parameters), GradientsOf(args), args.dx[0],
                             args.accumulate[0], args.workspace);
    }
    DTNN_RETURN_IF_ERROR(Gradients(args));
    return BackwardData(args);
  }
  absl::Status BackwardInfer(const BackwardArgs& args, const Tensor& dx) {
    return norm_->BackwardInfer(args.inputs[0], OutputOf(args), args.dy,
                                Norm::LineOf(args.parameters), Norm::RunningOf(args.parameters), dx,
                                args.accumulate[0], args.workspace);
  }
  // The addend's gradient is dy, cut.
  absl::Status PassToAddend(const BackwardArgs& args) {
    if (!spec_.add) return absl::OkStatus();
    const Tensor& gradient = args.dx.back();
    if (gradient.empty() || gradient.raw_data() == args.dy.raw_data()) return absl::OkStatus();
    return add_->Run({&args.dy, 1}, gradient, args.accumulate.back());
  }

  std::unique_ptr<BatchNorm> norm_;
  BatchNormSpec spec_;
  std::unique_ptr<Add> add_;                  // null without an addend
  BatchStatistics statistics_;                // of the last batch, between forward and backward
  std::unique_ptr<SharedStatistics> shared_;  // null: each rank normalises its own samples
  bool of_batch_;  // normalises with the statistics of the batch; else with the running ones
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
  if (!(options_.epsilon > 0) || !std::isfinite(options_.epsilon)) {
    return InvalidArgument("has an epsilon of ", options_.epsilon,
                           "; expected a finite number above 0");
  }
  if (!(options_.momentum >= 0 && options_.momentum <= 1)) {
    return InvalidArgument("has a momentum of ", options_.momentum, "; expected 0 to 1");
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

BatchNormSpec BatchNormalizationLayer::SpecOf(const BindContext& context) const {
  const Shape& sample = context.inputs[0];
  BatchNormSpec spec = {.batch = context.batch,
                        .channels = sample[0],
                        .format = context.format,
                        .dtype = context.dtype,
                        .epsilon = options_.epsilon,
                        .momentum = options_.momentum,
                        .add = context.fuse_addition,
                        .relu = context.fuse_relu};
  if (sample.rank() == 3) {
    const ImageExtents image = ExtentsOf(sample, context.format);
    spec.positions = image.height * image.width;
    spec.channels = image.channels;
  }
  return spec;
}

absl::StatusOr<std::unique_ptr<LayerOp>> BatchNormalizationLayer::Bind(
    const BindContext& context) const {
  const BatchNormSpec spec = SpecOf(context);
  if (const auto* const other = dynamic_cast<const Norm*>(context.fuse_addend)) {
    return BindNormalizedSum(*context.device, {other->SpecOf(context), spec});
  }
  DTNN_ASSIGN_OR_RETURN(std::unique_ptr<BatchNorm> norm, CreateBatchNorm(*context.device, spec));
  std::unique_ptr<SharedStatistics> shared;
  const bool of_batch = context.training && !context.frozen;
  if (of_batch && context.ranks != nullptr) {
    DTNN_ASSIGN_OR_RETURN(shared, SharedStatistics::Create(*context.ranks, *context.device,
                                                           spec.channels, WideOf(context.dtype)));
  }
  std::unique_ptr<Add> add;
  if (spec.add && context.training) {
    DTNN_ASSIGN_OR_RETURN(
        add, CreateAdd(*context.device, {.format = context.format, .dtype = context.dtype}));
  }
  return std::make_unique<BatchNormalizationOp>(std::move(norm), spec, std::move(add),
                                                std::move(shared), of_batch);
}

}  // namespace dtnn
