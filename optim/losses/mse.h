// The mean of (p - t)^2 over the outputs of a sample. Targets are quantities, or classes as a one
// among zeros.

#ifndef DTNN_OPTIM_LOSSES_MSE_H_
#define DTNN_OPTIM_LOSSES_MSE_H_

#include "optim/losses/loss.h"

namespace dtnn {

class MeanSquaredError : public Loss {
 public:
  std::string_view name() const override { return "mse"; }
  std::string_view label() const override { return "mse"; }
  bool TakesClasses() const override { return true; }
  bool TakesValues() const override { return true; }
  absl::StatusOr<std::unique_ptr<LossOp>> Bind(const LossContext& context) const override;
};

}  // namespace dtnn

#endif  // DTNN_OPTIM_LOSSES_MSE_H_
