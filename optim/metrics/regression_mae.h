// The mean of |t - p| over all outputs of all samples; a class counts as a one among zeros.

#ifndef DTNN_OPTIM_METRICS_REGRESSION_MAE_H_
#define DTNN_OPTIM_METRICS_REGRESSION_MAE_H_

#include <cmath>

#include "optim/metrics/mean_metric.h"

namespace dtnn {

struct MeanAbsolute {
  static constexpr MeanMetricSpec kSpec = {
      .name = "regression_mae", .label = "mae", .takes_values = true};

  template <typename T>
  static double Sample(std::span<const T> p, const TargetRows<T>& targets, int64_t i) {
    double sum = 0;
    for (size_t j = 0; j < p.size(); ++j) sum += std::abs(targets.At(i, int64_t(j)) - double(p[j]));
    return sum / double(p.size());
  }
};

using RegressionMae = MeanMetric<MeanAbsolute>;

}  // namespace dtnn

#endif  // DTNN_OPTIM_METRICS_REGRESSION_MAE_H_
