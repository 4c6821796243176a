#include "optim/losses/categorical_cross_entropy.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

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

class LogitsOp : public LossOp {
 public:
  // `rows`: for targets that are rows, where the device computes them; null: the host.
  LogitsOp(std::unique_ptr<SoftmaxCrossEntropy> fused, std::unique_ptr<LossOp> rows,
           double smoothing)
      : fused_(std::move(fused)), rows_(std::move(rows)), smoothing_(smoothing) {}

  absl::Status CheckTargets(const Tensor& targets) const override {
    return Distributions::Of(targets);
  }
  absl::Status Run(const Tensor& x, const Tensor& targets, const Tensor& probabilities,
                   const Tensor& losses, const Tensor& dx, const GradientScale& scale) override {
    if (targets.dtype() == DType::kInt32) {
      return fused_->Run(x, targets, probabilities, losses, dx, scale);
    }
    if (rows_ != nullptr) return rows_->Run(x, targets, probabilities, losses, dx, scale);
    return DispatchFloating(x.dtype(), [&](auto zero) {
      return RunDistributions<decltype(zero)>(x, targets, probabilities, losses, dx,
                                              scale.OnHost());
    });
  }

 private:
  // As the fused kernel does, for targets that are rows: a handful of values per sample.
  template <typename T>
  absl::Status RunDistributions(const Tensor& x, const Tensor& targets, const Tensor& probabilities,
                                const Tensor& losses, const Tensor& dx, double gradient_scale) {
    const TargetRows<T> rows(targets);
    const int64_t classes = x.shape()[1];
    logits_.resize(size_t(classes));
    const double everywhere = smoothing_ / double(classes);
    for (int64_t i = 0; i < x.shape()[0]; ++i) {
      const T* row = x.data<T>() + i * x.RowPitch();
      std::copy_n(row, classes, logits_.begin());  // results may overwrite them
      const double largest = *std::ranges::max_element(logits_);
      double sum = 0;
      for (const double logit : logits_) sum += std::exp(logit - largest);
      const double log_sum = largest + std::log(sum);
      double loss = 0;
      for (int64_t j = 0; j < classes; ++j) {
        const double log_p = logits_[size_t(j)] - log_sum, p = std::exp(log_p);
        const double share = (1 - smoothing_) * rows.At(i, j);
        if (share > 0) {
          loss -= share * std::clamp(log_p, std::log(kLeast), std::log(kMost));
        }
        loss -= everywhere == 0 ? 0 : everywhere * log_p;
        probabilities.data<T>()[i * probabilities.RowPitch() + j] = T(p);
        if (dx.empty()) continue;
        dx.data<T>()[i * dx.RowPitch() + j] = T((p - share - everywhere) * gradient_scale);
      }
      losses.data<T>()[i] = T(loss);
    }
    return absl::OkStatus();
  }

  std::unique_ptr<SoftmaxCrossEntropy> fused_;
  std::unique_ptr<LossOp> rows_;
  const double smoothing_;
  std::vector<double> logits_;  // of a row; empty until targets are rows
};

// For networks that end in something else than a softmax: a handful of values per sample.
class ProbabilitiesOp : public LossOp {
 public:
  explicit ProbabilitiesOp(double smoothing) : smoothing_(smoothing) {}

  absl::Status CheckTargets(const Tensor& targets) const override {
    return Distributions::Of(targets);
  }
  absl::Status Run(const Tensor& x, const Tensor& targets, const Tensor& /*probabilities*/,
                   const Tensor& losses, const Tensor& dx, const GradientScale& scale) override {
    return DispatchFloating(x.dtype(), [&](auto zero) -> absl::Status {
      using T = decltype(zero);
      const TargetRows<T> rows(targets);
      const int64_t classes = x.shape()[1];
      const double everywhere = smoothing_ / double(classes), gradient_scale = scale.OnHost();
      for (int64_t i = 0; i < x.shape()[0]; ++i) {
        const T* row = x.data<T>() + i * x.RowPitch();
        T* gradients = dx.empty() ? nullptr : dx.data<T>() + i * dx.RowPitch();
        double sum = 0;
        for (int64_t j = 0; j < classes; ++j) {
          const double target = (1 - smoothing_) * rows.At(i, j) + everywhere;
          const T p = std::clamp(row[j], T(kLeast), T(kMost));
          if (target != 0) sum -= target * double(std::log(p));
          if (gradients == nullptr) continue;
          gradients[j] = target == 0 ? T(0) : T(-gradient_scale * target / double(p));
        }
        losses.data<T>()[i] = T(sum);
      }
      return absl::OkStatus();
    });
  }

 private:
  double smoothing_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<LossOp>> CategoricalCrossEntropy::Bind(
    const LossContext& context) const {
  const double smoothing = options_.label_smoothing;
  if (!(smoothing >= 0 && smoothing < 1)) {
    return InvalidArgument("label smoothing is ", smoothing, ", expected 0 <= s < 1");
  }
  if (context.from_logits) {
    DTNN_ASSIGN_OR_RETURN(
        std::unique_ptr<SoftmaxCrossEntropy> fused,
        CreateSoftmaxCrossEntropy(*context.device, {.rows = context.batch,
                                                    .columns = context.outputs,
                                                    .dtype = context.dtype,
                                                    .label_smoothing = smoothing}));
    std::unique_ptr<LossOp> rows;
    if (!OnTheHost(context)) {
      DTNN_ASSIGN_OR_RETURN(
          rows, DeviceLossOp<Distributions>::Create(context, RowLossKind::kCategorical, smoothing));
    }
    return std::make_unique<LogitsOp>(std::move(fused), std::move(rows), smoothing);
  }
  if (!OnTheHost(context)) {
    return DeviceLossOp<Distributions>::Create(context, RowLossKind::kCategorical, smoothing);
  }
  return std::make_unique<ProbabilitiesOp>(smoothing);
}

}  // namespace dtnn
