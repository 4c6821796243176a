#include "optim/losses/mae.h"

#include <cmath>

#include "optim/losses/regression_loss.h"
#include "tensor/status_macros.h"

namespace dtnn {
namespace {

struct Term {
  static double Value(double error) { return std::abs(error); }
  static double Slope(double error) { return double((error > 0) - (error < 0)); }
};

}  // namespace

absl::StatusOr<std::unique_ptr<LossOp>> MeanAbsoluteError::Bind(const LossContext& context) const {
  DTNN_RETURN_IF_ERROR(CheckOnCpu(*this, context));
  return std::make_unique<RegressionOp<Term>>();
}

}  // namespace dtnn
