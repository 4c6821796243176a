// The mean over samples of max(0, largest prediction of the other classes (0 at least) - prediction
// of the label + 1).

#ifndef DTNN_OPTIM_METRICS_CATEGORICAL_HINGE_H_
#define DTNN_OPTIM_METRICS_CATEGORICAL_HINGE_H_

#include <cmath>

#include "optim/metrics/mean_metric.h"

namespace dtnn {

struct HingeBetweenClasses {
  static constexpr MeanMetricSpec kSpec = {.name = "categorical_hinge", .label = "hin"};

  template <typename T>
  static double Sample(std::span<const T> p, const TargetRows<T>& targets, int64_t i) {
    const size_t label = size_t(targets.ClassOf(i));
    // As the formula has it, max((1 - t) * p): the label itself takes part with 0.
    double other = 0;
    for (size_t j = 0; j < p.size() && !std::isnan(other); ++j) {
      if (j != label && !(double(p[j]) <= other)) other = double(p[j]);
    }
    const double hinge = other - double(p[label]) + 1;
    return hinge <= 0 ? 0 : hinge;
  }
};

using CategoricalHinge = MeanMetric<HingeBetweenClasses>;

}  // namespace dtnn

#endif  // DTNN_OPTIM_METRICS_CATEGORICAL_HINGE_H_
