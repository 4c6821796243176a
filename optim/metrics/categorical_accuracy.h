// The percentage of samples whose largest prediction is their label's. A tie counts for the first.

#ifndef DTNN_OPTIM_METRICS_CATEGORICAL_ACCURACY_H_
#define DTNN_OPTIM_METRICS_CATEGORICAL_ACCURACY_H_

#include "optim/metrics/metric.h"

namespace dtnn {

class CategoricalAccuracy : public Metric {
 public:
  std::string_view name() const override { return "categorical_accuracy"; }
  Better better() const override { return Better::kLarger; }
  bool TakesClasses() const override { return true; }
  bool TakesValues() const override { return false; }
  void Add(const Tensor& predictions, const Tensor& targets, std::span<double> sums) const override;
  std::string Format(std::string_view prefix, double value) const override;
};

}  // namespace dtnn

#endif  // DTNN_OPTIM_METRICS_CATEGORICAL_ACCURACY_H_
