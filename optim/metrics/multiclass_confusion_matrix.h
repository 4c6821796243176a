// How often each true class (rows) was predicted as each class (columns); the largest prediction
// counts, the first of equal ones. As a number: the share of samples on the diagonal.
//
// The report is the matrix for up to 30 classes, the name of each, where it is known, after its
// row; beyond, the 20 most frequent confusions.

#ifndef DTNN_OPTIM_METRICS_MULTICLASS_CONFUSION_MATRIX_H_
#define DTNN_OPTIM_METRICS_MULTICLASS_CONFUSION_MATRIX_H_

#include "optim/metrics/metric.h"

namespace dtnn {

class MulticlassConfusionMatrix : public Metric {
 public:
  std::string_view name() const override { return "multiclass_confusion_matrix"; }
  Better better() const override { return Better::kLarger; }
  bool TakesClasses() const override { return true; }
  bool TakesValues() const override { return false; }
  int64_t sums(int64_t outputs) const override { return outputs * outputs; }
  void Add(const Tensor& predictions, const Tensor& targets, std::span<double> sums) const override;
  double Value(std::span<const double> sums, int64_t samples) const override;
  std::string Format(std::string_view, double) const override { return ""; }
  std::string Report(std::string_view prefix, std::span<const double> sums,
                     std::span<const std::string> class_names) const override;
};

}  // namespace dtnn

#endif  // DTNN_OPTIM_METRICS_MULTICLASS_CONFUSION_MATRIX_H_
