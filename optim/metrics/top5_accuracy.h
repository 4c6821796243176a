// The percentage of samples whose label is among their five largest predictions. Of equal ones the
// first counts as larger; a label whose prediction is NaN is never among them.

#ifndef DTNN_OPTIM_METRICS_TOP5_ACCURACY_H_
#define DTNN_OPTIM_METRICS_TOP5_ACCURACY_H_

#include <cmath>

#include "optim/metrics/mean_metric.h"

namespace dtnn {

struct AmongFive {
  static constexpr MeanMetricSpec kSpec = {
      .name = "top5_accuracy", .label = "top5", .percentage = true};

  template <typename T>
  static double Sample(std::span<const T> p, const TargetRows<T>& targets, int64_t i) {
    const size_t label = size_t(targets.ClassOf(i));
    if (std::isnan(p[label])) return 0;
    int before = 0;
    for (size_t j = 0; j < p.size(); ++j) {
      before += p[j] > p[label] || (p[j] == p[label] && j < label);
    }
    return before < 5 ? 100 : 0;
  }
};

using Top5Accuracy = MeanMetric<AmongFive>;

}  // namespace dtnn

#endif  // DTNN_OPTIM_METRICS_TOP5_ACCURACY_H_
