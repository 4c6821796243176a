#include "optim/losses/mse.h"

#include "optim/losses/regression_loss.h"
#include "tensor/status_macros.h"

namespace dtnn {
namespace {

struct Term {
  static double Value(double error) { return error * error; }
  static double Slope(double error) { return 2 * error; }
};

}  // namespace

absl::StatusOr<std::unique_ptr<LossOp>> MeanSquaredError::Bind(const LossContext& context) const {
  DTNN_RETURN_IF_ERROR(CheckOnCpu(*this, context));
  return std::make_unique<RegressionOp<Term>>();
}

}  // namespace dtnn
