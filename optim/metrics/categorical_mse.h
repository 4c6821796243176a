// The mean over samples of (1 - p)^2, p the prediction of the label.

#ifndef DTNN_OPTIM_METRICS_CATEGORICAL_MSE_H_
#define DTNN_OPTIM_METRICS_CATEGORICAL_MSE_H_

#include "optim/metrics/metric.h"

namespace dtnn {

class CategoricalMse : public Metric {
 public:
  std::string_view name() const override { return "categorical_mse"; }
  Better better() const override { return Better::kSmaller; }
  bool TakesClasses() const override { return true; }
  bool TakesValues() const override { return false; }
  void Add(const Tensor& predictions, const Tensor& targets, std::span<double> sums) const override;
  std::string Format(std::string_view prefix, double value) const override;
};

}  // namespace dtnn

#endif  // DTNN_OPTIM_METRICS_CATEGORICAL_MSE_H_
