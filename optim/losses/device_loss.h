// Losses on devices whose memory the host does not reach (kernels/row_loss).

#ifndef DTNN_OPTIM_LOSSES_DEVICE_LOSS_H_
#define DTNN_OPTIM_LOSSES_DEVICE_LOSS_H_

#include <memory>
#include <utility>
#include <vector>

#include "kernels/device/device_traits.h"
#include "kernels/row_loss/row_loss_gpu.h"
#include "optim/losses/loss.h"
#include "tensor/status_macros.h"

namespace dtnn {

inline bool OnTheHost(const LossContext& context) {
  return TraitsOf(context.device->device()).in_host_memory;
}

// Check: `static absl::Status Of(const Tensor& targets)`, as LossOp::CheckTargets.
template <class Check>
class DeviceLossOp : public LossOp {
 public:
  static absl::StatusOr<std::unique_ptr<LossOp>> Create(const LossContext& context,
                                                        RowLossKind kind,
                                                        double label_smoothing = 0,
                                                        std::vector<double> class_weights = {}) {
    DTNN_ASSIGN_OR_RETURN(
        std::unique_ptr<RowLoss> loss,
        CreateRowLossGpu(*context.device, {.kind = kind,
                                           .columns = context.outputs,
                                           .dtype = context.dtype,
                                           .from_logits = context.from_logits,
                                           .label_smoothing = label_smoothing,
                                           .class_weights = std::move(class_weights)}));
    return std::unique_ptr<LossOp>(new DeviceLossOp(std::move(loss)));
  }

  absl::Status CheckTargets(const Tensor& targets) const override { return Check::Of(targets); }
  absl::Status Run(const Tensor& x, const Tensor& targets, const Tensor& probabilities,
                   const Tensor& losses, const Tensor& dx, const GradientScale& scale) override {
    return loss_->Run(x, targets, probabilities, losses, dx, scale);
  }

 private:
  explicit DeviceLossOp(std::unique_ptr<RowLoss> loss) : loss_(std::move(loss)) {}

  std::unique_ptr<RowLoss> loss_;
};

}  // namespace dtnn

#endif  // DTNN_OPTIM_LOSSES_DEVICE_LOSS_H_
