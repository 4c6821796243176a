// The percentage of samples whose label is among their five largest predictions. Of equal ones the
// first counts as larger; a label whose prediction is NaN is never among them.

#ifndef DTNN_OPTIM_METRICS_TOP5_ACCURACY_H_
#define DTNN_OPTIM_METRICS_TOP5_ACCURACY_H_

#include "optim/metrics/metric.h"

namespace dtnn {

class Top5Accuracy : public Metric {
 public:
  std::string_view name() const override { return "top5_accuracy"; }
  Better better() const override { return Better::kLarger; }
  bool TakesClasses() const override { return true; }
  bool TakesValues() const override { return false; }
  void Add(const Tensor& predictions, const Tensor& targets, std::span<double> sums) const override;
  std::string Format(std::string_view prefix, double value) const override;
};

}  // namespace dtnn

#endif  // DTNN_OPTIM_METRICS_TOP5_ACCURACY_H_
