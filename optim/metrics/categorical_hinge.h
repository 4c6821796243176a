// The mean over samples of max(0, largest prediction of the other classes (0 at least) - prediction
// of the label + 1).

#ifndef DTNN_OPTIM_METRICS_CATEGORICAL_HINGE_H_
#define DTNN_OPTIM_METRICS_CATEGORICAL_HINGE_H_

#include "optim/metrics/metric.h"

namespace dtnn {

class CategoricalHinge : public Metric {
 public:
  std::string_view name() const override { return "categorical_hinge"; }
  Better better() const override { return Better::kSmaller; }
  bool TakesClasses() const override { return true; }
  bool TakesValues() const override { return false; }
  void Add(const Tensor& predictions, const Tensor& targets, std::span<double> sums) const override;
  std::string Format(std::string_view prefix, double value) const override;
};

}  // namespace dtnn

#endif  // DTNN_OPTIM_METRICS_CATEGORICAL_HINGE_H_
