#include "optim/categorical_cross_entropy.h"

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
  absl::Status Run(const Tensor& x, const Tensor& targets, const Tensor& /*probabilities*/,
                   const Tensor& losses, const Tensor& dx, double gradient_scale) override {
    DispatchFloating(x.dtype(), [&](auto zero) {
      using T = decltype(zero);
      const int64_t classes = x.shape()[1];
      for (int64_t i = 0; i < x.shape()[0]; ++i) {
        const int32_t label = targets.data<int32_t>()[i];
        const T raw = x.data<T>()[i * x.RowPitch() + label];
        const T p = std::clamp(raw, T(1e-8), T(1 - 1e-8));
        losses.data<T>()[i] = -std::log(p);
        if (dx.empty()) continue;
        T* row = dx.data<T>() + i * dx.RowPitch();
        std::fill_n(row, classes, T(0));
        row[label] = T(-gradient_scale / double(p));
      }
    });
    return absl::OkStatus();
  }
};

}  // namespace

absl::StatusOr<std::unique_ptr<LossOp>> CategoricalCrossEntropy::Bind(
    const LossContext& context) const {
  if (context.from_logits) {
    DTNN_ASSIGN_OR_RETURN(std::unique_ptr<SoftmaxCrossEntropy> fused,
                          CreateSoftmaxCrossEntropy(*context.device, {.rows = context.batch,
                                                                      .columns = context.outputs,
                                                                      .dtype = context.dtype}));
    return std::make_unique<LogitsOp>(std::move(fused));
  }
  if (!context.device->device().is_cpu()) {
    return absl::UnimplementedError(absl::StrCat("categorical cross entropy on ",
                                                 context.device->device().ToString(),
                                                 " needs a network that ends in a Softmax layer"));
  }
  return std::make_unique<ProbabilitiesOp>();
}

}  // namespace dtnn
