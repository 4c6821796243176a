// The mean over samples of |1 - p|, p the prediction of the label.

#ifndef DTNN_OPTIM_METRICS_CATEGORICAL_MAE_H_
#define DTNN_OPTIM_METRICS_CATEGORICAL_MAE_H_

#include <cmath>

#include "optim/metrics/mean_metric.h"

namespace dtnn {

struct CategoricalAbsoluteError {
  static constexpr MeanMetricSpec kSpec = {.name = "categorical_mae", .label = "mae"};

  template <typename T>
  static double Sample(std::span<const T> p, const TargetRows<T>& targets, int64_t i) {
    return std::abs(1 - double(p[targets.ClassOf(i)]));
  }
};

using CategoricalMae = MeanMetric<CategoricalAbsoluteError>;

}  // namespace dtnn

#endif  // DTNN_OPTIM_METRICS_CATEGORICAL_MAE_H_
