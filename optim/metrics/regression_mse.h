// The mean of (t - p)^2 over all outputs of all samples; a class counts as a one among zeros.

#ifndef DTNN_OPTIM_METRICS_REGRESSION_MSE_H_
#define DTNN_OPTIM_METRICS_REGRESSION_MSE_H_

#include "optim/metrics/mean_metric.h"

namespace dtnn {

struct MeanSquare {
  static constexpr MeanMetricSpec kSpec = {
      .name = "regression_mse", .label = "mse", .takes_values = true};

  template <typename T>
  static double Sample(std::span<const T> p, const TargetRows<T>& targets, int64_t i) {
    double sum = 0;
    for (size_t j = 0; j < p.size(); ++j) {
      const double error = targets.At(i, int64_t(j)) - double(p[j]);
      sum += error * error;
    }
    return sum / double(p.size());
  }
};

using RegressionMse = MeanMetric<MeanSquare>;

}  // namespace dtnn

#endif  // DTNN_OPTIM_METRICS_REGRESSION_MSE_H_
