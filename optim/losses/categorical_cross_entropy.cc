#include "optim/losses/categorical_cross_entropy.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/softmax/softmax.h"
#include "tensor/status_macros.h"

namespace dtnn {
namespace {

class LogitsOp : public LossOp {
 public:
  explicit LogitsOp(std::unique_ptr<SoftmaxCrossEntropy> fused) : fused_(std::move(fused)) {}

  absl::Status Run(const Tensor& x, const Tensor& targets, const Tensor& probabilities,
                   const Tensor& losses, const Tensor& dx, double gradient_scale) override {
    return fused_->Run(x, targets, probabilities, losses, dx, gradient_scale);
  }

 private:
  std::unique_ptr<SoftmaxCrossEntropy> fused_;
};

// For networks that end in something else than a softmax: a handful of values per sample.
class ProbabilitiesOp : public LossOp {
 public:
  explicit ProbabilitiesOp(double smoothing) : smoothing_(smoothing) {}

  absl::Status Run(const Tensor& x, const Tensor& targets, const Tensor& /*probabilities*/,
                   const Tensor& losses, const Tensor& dx, double gradient_scale) override {
    DispatchFloating(x.dtype(), [&](auto zero) {
      using T = decltype(zero);
      const int64_t classes = x.shape()[1];
      const double everywhere = smoothing_ / double(classes);
      for (int64_t i = 0; i < x.shape()[0]; ++i) {
        const int32_t label = targets.data<int32_t>()[i];
        const T* row = x.data<T>() + i * x.RowPitch();
        T* gradients = dx.empty() ? nullptr : dx.data<T>() + i * dx.RowPitch();
        double sum = 0;
        for (int64_t j = 0; j < classes; ++j) {
          const double target = (j == label ? 1 - smoothing_ : 0) + everywhere;
          const T p = std::clamp(row[j], T(1e-8), T(1 - 1e-8));
          if (target != 0) sum -= target * double(std::log(p));
          if (gradients == nullptr) continue;
          gradients[j] = target == 0 ? T(0) : T(-gradient_scale * target / double(p));
        }
        losses.data<T>()[i] = T(sum);
      }
    });
    return absl::OkStatus();
  }

 private:
  double smoothing_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<LossOp>> CategoricalCrossEntropy::Bind(
    const LossContext& context) const {
  const double smoothing = options_.label_smoothing;
  if (!(smoothing >= 0 && smoothing < 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("label smoothing is ", smoothing, ", expected 0 <= s < 1"));
  }
  if (context.from_logits) {
    DTNN_ASSIGN_OR_RETURN(
        std::unique_ptr<SoftmaxCrossEntropy> fused,
        CreateSoftmaxCrossEntropy(*context.device, {.rows = context.batch,
                                                    .columns = context.outputs,
                                                    .dtype = context.dtype,
                                                    .label_smoothing = smoothing}));
    return std::make_unique<LogitsOp>(std::move(fused));
  }
  DTNN_RETURN_IF_ERROR(CheckOnCpu(*this, context));
  return std::make_unique<ProbabilitiesOp>(smoothing);
}

}  // namespace dtnn
