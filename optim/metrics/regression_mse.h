// The mean of (t - p)^2 over all outputs of all samples; a class counts as a one among zeros.

#ifndef DTNN_OPTIM_METRICS_REGRESSION_MSE_H_
#define DTNN_OPTIM_METRICS_REGRESSION_MSE_H_

#include "optim/metrics/metric.h"

namespace dtnn {

class RegressionMse : public Metric {
 public:
  std::string_view name() const override { return "regression_mse"; }
  Better better() const override { return Better::kSmaller; }
  bool TakesClasses() const override { return true; }
  bool TakesValues() const override { return true; }
  void Add(const Tensor& predictions, const Tensor& targets, std::span<double> sums) const override;
  std::string Format(std::string_view prefix, double value) const override;
};

}  // namespace dtnn

#endif  // DTNN_OPTIM_METRICS_REGRESSION_MSE_H_
