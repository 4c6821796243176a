// The mean of (p - t)^2 over the outputs of a sample.

#ifndef DTNN_OPTIM_LOSSES_MSE_H_
#define DTNN_OPTIM_LOSSES_MSE_H_

#include "optim/losses/regression_loss.h"

namespace dtnn {

struct SquaredError {
  static constexpr std::string_view kName = "mse";
  static constexpr RowLossKind kKind = RowLossKind::kSquared;
  static double Value(double error) { return error * error; }
  static double Slope(double error) { return 2 * error; }
};

using MeanSquaredError = RegressionLoss<SquaredError>;

}  // namespace dtnn

#endif  // DTNN_OPTIM_LOSSES_MSE_H_
