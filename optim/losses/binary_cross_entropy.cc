#include "optim/losses/binary_cross_entropy.h"

#include <algorithm>
#include <cmath>

#include "kernels/activation/activation.h"
#include "optim/losses/device_loss.h"
#include "optim/losses/targets.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

constexpr double kClip = 1e-8;

struct Label {
  double loss, gradient;
};

Label OfProbability(double p, double t) {
  const double clipped = std::clamp(p, kClip, 1 - kClip);  // a NaN passes
  return {-t * std::log(clipped) - (1 - t) * std::log1p(-clipped),
          (1 - t) / (1 - clipped) - t / clipped};
}

// -log p and -log(1 - p) are softplus(-x) and softplus(x), softplus(x) = log(1 + e^x); from
// e^-|x|, which cannot overflow.
Label OfLogit(double x, double t) {
  const double least = -std::log1p(-kClip), most = -std::log(kClip);  // the clip
  const double e = std::exp(-std::abs(x)), log = std::log1p(e);
  const double if_true = std::clamp(log + std::max(-x, 0.0), least, most);
  const double if_false = std::clamp(log + std::max(x, 0.0), least, most);
  const double p = (x < 0 ? e : 1) / (1 + e);
  return {t * if_true + (1 - t) * if_false, p - t};
}

struct ProbableLabels {
  static absl::Status Of(const Tensor& targets) {
    if (targets.dtype() == DType::kInt32) return absl::OkStatus();
    return DispatchFloating(targets.dtype(), [&](auto zero) -> absl::Status {
      const TargetRows<decltype(zero)> rows(targets);
      for (int64_t i = 0; i < targets.shape()[0]; ++i) {
        for (int64_t j = 0; j < targets.shape()[1]; ++j) {
          const double t = rows.At(i, j);
          if (t >= 0 && t <= 1) continue;
          return InvalidArgument("binary cross entropy: target ", j, " of sample ", i,
                                 " of the batch is ", t,
                                 ", expected 0 to 1; did you mean another loss, such as mse?");
        }
      }
      return absl::OkStatus();
    });
  }
};

template <bool kFromLogits>
class BinaryCrossEntropyOp : public LossOp {
 public:
  static absl::StatusOr<std::unique_ptr<LossOp>> Create(const LossContext& context,
                                                        double smoothing) {
    auto op = std::make_unique<BinaryCrossEntropyOp>();
    op->smoothing_ = smoothing;
    if (!kFromLogits) return op;
    // Probabilities are those of the layer that the loss takes over, bit for bit.
    DTNN_ASSIGN_OR_RETURN(
        op->sigmoid_, CreateActivation(*context.device,
                                       {.kind = ActivationKind::kSigmoid, .dtype = context.dtype}));
    DTNN_ASSIGN_OR_RETURN(
        op->probabilities_,
        Tensor::Allocate(Device::Cpu(), context.dtype, Shape{context.batch, context.outputs}));
    return op;
  }

  absl::Status CheckTargets(const Tensor& targets) const override {
    return ProbableLabels::Of(targets);
  }

  absl::Status Run(const Tensor& x, const Tensor& targets, const Tensor& probabilities,
                   const Tensor& losses, const Tensor& dx, const GradientScale& scale) override {
    const double gradient_scale = scale.OnHost();
    Tensor sigmoid;  // beside x, which may be `probabilities` or `dx`
    if (kFromLogits) {
      sigmoid = probabilities_.Samples(0, x.shape()[0], TensorFormat::kNHWC);
      DTNN_RETURN_IF_ERROR(sigmoid_->Forward(x, sigmoid));
    }
    DispatchCpuFloating(x.dtype(), [&](auto zero) {
      using T = decltype(zero);
      const TargetRows<Wide<T>> rows(targets);
      for (int64_t i = 0; i < x.shape()[0]; ++i) {
        const T* row = x.data<T>() + i * x.RowPitch();
        T* gradients = dx.empty() ? nullptr : dx.data<T>() + i * dx.RowPitch();
        double sum = 0;
        for (int64_t j = 0; j < x.shape()[1]; ++j) {
          const double t = (1 - smoothing_) * rows.At(i, j) + smoothing_ / 2;
          const double value = double(row[j]);
          const Label label = kFromLogits ? OfLogit(value, t) : OfProbability(value, t);
          sum += label.loss;
          if (gradients != nullptr) gradients[j] = T(gradient_scale * label.gradient);
        }
        losses.data<Wide<T>>()[i] = Wide<T>(sum);
        if (!kFromLogits) continue;
        std::copy_n(sigmoid.data<T>() + i * x.shape()[1], x.shape()[1],
                    probabilities.data<T>() + i * probabilities.RowPitch());
      }
    });
    return absl::OkStatus();
  }

 private:
  double smoothing_ = 0;
  std::unique_ptr<Activation> sigmoid_;
  Tensor probabilities_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<LossOp>> BinaryCrossEntropy::Bind(const LossContext& context) const {
  const double smoothing = options_.label_smoothing;
  if (!(smoothing >= 0 && smoothing < 1)) {
    return InvalidArgument("label smoothing is ", smoothing, ", expected 0 <= s < 1");
  }
  if (!OnTheHost(context)) {
    return DeviceLossOp<ProbableLabels>::Create(context, RowLossKind::kBinary, smoothing);
  }
  if (context.from_logits) return BinaryCrossEntropyOp<true>::Create(context, smoothing);
  return BinaryCrossEntropyOp<false>::Create(context, smoothing);
}

}  // namespace dtnn
