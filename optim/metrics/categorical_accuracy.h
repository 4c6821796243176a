// The percentage of samples whose largest prediction is their label's. A tie counts for the first.

#ifndef DTNN_OPTIM_METRICS_CATEGORICAL_ACCURACY_H_
#define DTNN_OPTIM_METRICS_CATEGORICAL_ACCURACY_H_

#include <algorithm>

#include "optim/metrics/mean_metric.h"

namespace dtnn {

struct LargestIsRight {
  static constexpr MeanMetricSpec kSpec = {
      .name = "categorical_accuracy", .label = "acc", .percentage = true};

  template <typename T>
  static double Sample(std::span<const T> p, const TargetRows<T>& targets, int64_t i) {
    return std::ranges::max_element(p) - p.begin() == targets.ClassOf(i) ? 100 : 0;
  }
};

using CategoricalAccuracy = MeanMetric<LargestIsRight>;

}  // namespace dtnn

#endif  // DTNN_OPTIM_METRICS_CATEGORICAL_ACCURACY_H_
