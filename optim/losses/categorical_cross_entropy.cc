#include "optim/losses/categorical_cross_entropy.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>
#include <vector>

#include "kernels/pixel_loss/pixel_loss.h"
#include "kernels/softmax/softmax.h"
#include "optim/losses/device_loss.h"
#include "optim/losses/targets.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

constexpr double kLeast = 1e-8, kMost = 1 - 1e-8;  // of a probability in a logarithm

// Targets that are not classes are rows of probabilities.
struct Distributions {
  static absl::Status Of(const Tensor& targets) {
    if (targets.dtype() == DType::kInt32) return absl::OkStatus();
    return DispatchFloating(targets.dtype(), [&](auto zero) -> absl::Status {
      constexpr double kRounding = 1e-3;
      const TargetRows<decltype(zero)> rows(targets);
      for (int64_t i = 0; i < targets.shape()[0]; ++i) {
        double sum = 0, least = 0;
        for (int64_t j = 0; j < targets.shape()[1]; ++j) {
          sum += rows.At(i, j);
          least = std::min(least, rows.At(i, j));
        }
        if (least >= 0 && std::abs(sum - 1) <= kRounding) continue;
        return InvalidArgument("the targets of sample ", i,
                               " of the batch are not probabilities: they sum to ", sum,
                               " and the smallest is ", least,
                               "; categorical_cross_entropy needs a "
                               "class per sample, or probabilities that sum to 1");
      }
      return absl::OkStatus();
    });
  }
};

// The parts of a target, t = (1 - s) * row + s / K, times the weights of their classes.
class WeightedTargets {
 public:
  WeightedTargets(const CategoricalCrossEntropyOptions& options, int64_t classes)
      : smoothing_(options.label_smoothing),
        everywhere_(options.label_smoothing / double(classes)),
        weights_(options.class_weights) {}

  // The part of class j that comes from the row.
  double Share(double row, int64_t j) const { return (1 - smoothing_) * row * Weight(j); }
  // The part of class j that every row has.
  double Everywhere(int64_t j) const { return everywhere_ * Weight(j); }

 private:
  double Weight(int64_t j) const { return weights_.empty() ? 1 : weights_[size_t(j)]; }

  const double smoothing_, everywhere_;
  const std::span<const double> weights_;
};

class LogitsOp : public LossOp {
 public:
  // `fused`: for targets that are classes; null: as for rows. `rows`: for targets that are rows,
  // where the device computes them; null: the host.
  LogitsOp(std::unique_ptr<SoftmaxCrossEntropy> fused, std::unique_ptr<LossOp> rows,
           const CategoricalCrossEntropyOptions& options)
      : fused_(std::move(fused)), rows_(std::move(rows)), options_(options) {}

  absl::Status CheckTargets(const Tensor& targets) const override {
    return Distributions::Of(targets);
  }
  absl::Status Run(const Tensor& x, const Tensor& targets, const Tensor& probabilities,
                   const Tensor& losses, const Tensor& dx, const GradientScale& scale) override {
    if (targets.dtype() == DType::kInt32 && fused_ != nullptr) {
      return fused_->Run(x, targets, probabilities, losses, dx, scale);
    }
    if (rows_ != nullptr) return rows_->Run(x, targets, probabilities, losses, dx, scale);
    return DispatchCpuFloating(x.dtype(), [&](auto zero) {
      return RunDistributions<decltype(zero)>(x, targets, probabilities, losses, dx,
                                              scale.OnHost());
    });
  }

 private:
  // As the fused kernel does, for targets that are rows: a handful of values per sample.
  template <typename T>
  absl::Status RunDistributions(const Tensor& x, const Tensor& targets, const Tensor& probabilities,
                                const Tensor& losses, const Tensor& dx, double gradient_scale) {
    using W = Wide<T>;
    const TargetRows<W> rows(targets);
    const int64_t classes = x.shape()[1];
    const WeightedTargets weighted(options_, classes);
    logits_.resize(size_t(classes));
    for (int64_t i = 0; i < x.shape()[0]; ++i) {
      const T* row = x.data<T>() + i * x.RowPitch();
      for (int64_t j = 0; j < classes; ++j) logits_[size_t(j)] = double(row[j]);  // before results
      const double largest = *std::ranges::max_element(logits_);
      double sum = 0;
      for (const double logit : logits_) sum += std::exp(logit - largest);
      const double log_sum = largest + std::log(sum);
      double total = options_.class_weights.empty() ? 1 : 0;  // of the target
      for (int64_t j = 0; j < classes && !options_.class_weights.empty(); ++j) {
        total += weighted.Share(rows.At(i, j), j) + weighted.Everywhere(j);
      }
      double loss = 0;
      for (int64_t j = 0; j < classes; ++j) {
        const double log_p = logits_[size_t(j)] - log_sum, p = std::exp(log_p);
        const double share = weighted.Share(rows.At(i, j), j);
        const double everywhere = weighted.Everywhere(j);
        if (share > 0) {
          loss -= share * std::clamp(log_p, std::log(kLeast), std::log(kMost));
        }
        loss -= everywhere == 0 ? 0 : everywhere * log_p;
        probabilities.data<W>()[i * probabilities.RowPitch() + j] = W(p);
        if (dx.empty()) continue;
        dx.data<T>()[i * dx.RowPitch() + j] = T((total * p - share - everywhere) * gradient_scale);
      }
      losses.data<W>()[i] = W(loss);
    }
    return absl::OkStatus();
  }

  std::unique_ptr<SoftmaxCrossEntropy> fused_;
  std::unique_ptr<LossOp> rows_;
  const CategoricalCrossEntropyOptions options_;
  std::vector<double> logits_;  // of a row; empty until targets are rows
};

// For networks that end in something else than a softmax: a handful of values per sample.
class ProbabilitiesOp : public LossOp {
 public:
  explicit ProbabilitiesOp(const CategoricalCrossEntropyOptions& options) : options_(options) {}

  absl::Status CheckTargets(const Tensor& targets) const override {
    return Distributions::Of(targets);
  }
  absl::Status Run(const Tensor& x, const Tensor& targets, const Tensor& /*probabilities*/,
                   const Tensor& losses, const Tensor& dx, const GradientScale& scale) override {
    return DispatchCpuFloating(x.dtype(), [&](auto zero) -> absl::Status {
      using T = decltype(zero);
      using W = Wide<T>;
      const TargetRows<W> rows(targets);
      const int64_t classes = x.shape()[1];
      const WeightedTargets weighted(options_, classes);
      const double gradient_scale = scale.OnHost();
      for (int64_t i = 0; i < x.shape()[0]; ++i) {
        const T* row = x.data<T>() + i * x.RowPitch();
        T* gradients = dx.empty() ? nullptr : dx.data<T>() + i * dx.RowPitch();
        double sum = 0;
        for (int64_t j = 0; j < classes; ++j) {
          const double target = weighted.Share(rows.At(i, j), j) + weighted.Everywhere(j);
          const W p = std::clamp(W(row[j]), W(kLeast), W(kMost));
          if (target != 0) sum -= target * double(std::log(p));
          if (gradients == nullptr) continue;
          gradients[j] = target == 0 ? T(0) : T(-gradient_scale * target / double(p));
        }
        losses.data<W>()[i] = W(sum);
      }
      return absl::OkStatus();
    });
  }

 private:
  const CategoricalCrossEntropyOptions options_;
};

// For networks whose output is an image.
class PixelLossOp : public LossOp {
 public:
  explicit PixelLossOp(std::unique_ptr<PixelLoss> loss) : loss_(std::move(loss)) {}

  absl::Status Run(const Tensor& x, const Tensor& targets, const Tensor& probabilities,
                   const Tensor& losses, const Tensor& dx, const GradientScale& scale) override {
    return loss_->Run(x, targets, probabilities, losses, dx, scale);
  }

 private:
  std::unique_ptr<PixelLoss> loss_;
};

absl::Status CheckWeights(std::span<const double> weights, int64_t classes) {
  if (weights.empty()) return absl::OkStatus();
  if (int64_t(weights.size()) != classes) {
    return InvalidArgument("there are ", weights.size(), " class weights for ", classes,
                           " classes; expected one for each");
  }
  for (const double weight : weights) {
    if (weight >= 0 && std::isfinite(weight)) continue;
    return InvalidArgument("a class weight is ", weight, ", expected at least 0");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<LossOp>> CategoricalCrossEntropy::Bind(
    const LossContext& context) const {
  const double smoothing = options_.label_smoothing;
  if (!(smoothing >= 0 && smoothing < 1)) {
    return InvalidArgument("label smoothing is ", smoothing, ", expected 0 <= s < 1");
  }
  DTNN_RETURN_IF_ERROR(CheckWeights(options_.class_weights, context.outputs));
  if (context.image.height > 0) {
    DTNN_ASSIGN_OR_RETURN(
        std::unique_ptr<PixelLoss> loss,
        CreatePixelLoss(*context.device, {.images = context.batch,
                                          .image = context.image,
                                          .format = context.format,
                                          .dtype = context.dtype,
                                          .from_logits = context.from_logits,
                                          .label_smoothing = smoothing,
                                          .class_weights = options_.class_weights}));
    return std::make_unique<PixelLossOp>(std::move(loss));
  }
  const auto on_device = [&] {
    return DeviceLossOp<Distributions>::Create(context, RowLossKind::kCategorical, smoothing,
                                               options_.class_weights);
  };
  if (context.from_logits) {
    std::unique_ptr<SoftmaxCrossEntropy> fused;
    if (options_.class_weights.empty()) {
      DTNN_ASSIGN_OR_RETURN(
          fused, CreateSoftmaxCrossEntropy(*context.device, {.rows = context.batch,
                                                             .columns = context.outputs,
                                                             .dtype = context.dtype,
                                                             .label_smoothing = smoothing}));
    }
    std::unique_ptr<LossOp> rows;
    if (!OnTheHost(context)) {
      DTNN_ASSIGN_OR_RETURN(rows, on_device());
    }
    return std::make_unique<LogitsOp>(std::move(fused), std::move(rows), options_);
  }
  if (!OnTheHost(context)) return on_device();
  return std::make_unique<ProbabilitiesOp>(options_);
}

}  // namespace dtnn
