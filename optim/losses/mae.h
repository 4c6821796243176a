// The mean of |p - t| over the outputs of a sample; where they are equal the gradient is 0.

#ifndef DTNN_OPTIM_LOSSES_MAE_H_
#define DTNN_OPTIM_LOSSES_MAE_H_

#include <cmath>

#include "optim/losses/regression_loss.h"

namespace dtnn {

struct AbsoluteError {
  static constexpr std::string_view kName = "mae";
  static constexpr RowLossKind kKind = RowLossKind::kAbsolute;
  static double Value(double error) { return std::abs(error); }
  static double Slope(double error) { return double((error > 0) - (error < 0)); }
};

using MeanAbsoluteError = RegressionLoss<AbsoluteError>;

}  // namespace dtnn

#endif  // DTNN_OPTIM_LOSSES_MAE_H_
