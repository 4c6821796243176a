// The mean of |p - t| over the outputs of a sample; where they are equal the gradient is 0. Targets
// are quantities, or classes as a one among zeros.

#ifndef DTNN_OPTIM_LOSSES_MAE_H_
#define DTNN_OPTIM_LOSSES_MAE_H_

#include "optim/losses/loss.h"

namespace dtnn {

class MeanAbsoluteError : public Loss {
 public:
  std::string_view name() const override { return "mae"; }
  std::string_view label() const override { return "mae"; }
  bool TakesClasses() const override { return true; }
  bool TakesValues() const override { return true; }
  absl::StatusOr<std::unique_ptr<LossOp>> Bind(const LossContext& context) const override;
};

}  // namespace dtnn

#endif  // DTNN_OPTIM_LOSSES_MAE_H_
