// The mean over samples of (1 - p)^2, p the prediction of the label.

#ifndef DTNN_OPTIM_METRICS_CATEGORICAL_MSE_H_
#define DTNN_OPTIM_METRICS_CATEGORICAL_MSE_H_

#include "optim/metrics/mean_metric.h"

namespace dtnn {

struct CategoricalSquaredError {
  static constexpr MeanMetricSpec kSpec = {.name = "categorical_mse", .label = "mse"};

  template <typename T>
  static double Sample(std::span<const T> p, const TargetRows<T>& targets, int64_t i) {
    const double miss = 1 - double(p[targets.ClassOf(i)]);
    return miss * miss;
  }
};

using CategoricalMse = MeanMetric<CategoricalSquaredError>;

}  // namespace dtnn

#endif  // DTNN_OPTIM_METRICS_CATEGORICAL_MSE_H_
