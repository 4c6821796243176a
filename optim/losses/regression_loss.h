// Losses of the form mean(term(prediction - target)) over the outputs of a sample. Targets are
// quantities, or classes as a one among zeros.

#ifndef DTNN_OPTIM_LOSSES_REGRESSION_LOSS_H_
#define DTNN_OPTIM_LOSSES_REGRESSION_LOSS_H_

#include "optim/losses/device_loss.h"
#include "optim/losses/loss.h"
#include "optim/losses/targets.h"

namespace dtnn {

// Term has `static constexpr std::string_view kName`, the kind that devices compute, kKind, `static
// double Value(double error)` and its derivative `static double Slope(double)`.
template <class Term>
class RegressionOp : public LossOp {
 public:
  absl::Status Run(const Tensor& x, const Tensor& targets, const Tensor& /*probabilities*/,
                   const Tensor& losses, const Tensor& dx, const GradientScale& scale) override {
    const double gradient_scale = scale.OnHost();
    DispatchCpuFloating(x.dtype(), [&](auto zero) {
      using T = decltype(zero);
      const int64_t outputs = x.shape()[1];
      const TargetRows<Wide<T>> rows(targets);
      for (int64_t i = 0; i < x.shape()[0]; ++i) {
        const T* row = x.data<T>() + i * x.RowPitch();
        T* gradients = dx.empty() ? nullptr : dx.data<T>() + i * dx.RowPitch();
        double sum = 0;
        for (int64_t j = 0; j < outputs; ++j) {
          const double error = double(row[j]) - rows.At(i, j);
          sum += Term::Value(error);
          if (gradients == nullptr) continue;
          gradients[j] = T(gradient_scale * Term::Slope(error) / double(outputs));
        }
        losses.data<Wide<T>>()[i] = Wide<T>(sum / double(outputs));
      }
    });
    return absl::OkStatus();
  }
};

struct AnyTargets {
  static absl::Status Of(const Tensor&) { return absl::OkStatus(); }
};

template <class Term>
class RegressionLoss : public Loss {
 public:
  std::string_view name() const override { return Term::kName; }
  std::string_view label() const override { return Term::kName; }
  bool TakesClasses() const override { return true; }
  bool TakesValues() const override { return true; }
  absl::StatusOr<std::unique_ptr<LossOp>> Bind(const LossContext& context) const override {
    if (OnTheHost(context)) return std::make_unique<RegressionOp<Term>>();
    return DeviceLossOp<AnyTargets>::Create(context, Term::kKind);
  }
};

}  // namespace dtnn

#endif  // DTNN_OPTIM_LOSSES_REGRESSION_LOSS_H_
