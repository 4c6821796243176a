// For every label, how often it was predicted and how often true: the 2x2 confusion matrices that
// precision, recall, F1 and their reports are made of.
//
// Where targets are values, a label is true, or predicted, from 0.5 on, each by itself. Where they
// are classes, the largest prediction is the one predicted label (the first of equal ones).
// A quotient without a denominator is 0. Labels that are neither true nor predicted of any sample
// say nothing and are left out of means, as scikit-learn and torchmetrics do with classes.

#ifndef DTNN_OPTIM_METRICS_LABEL_COUNTS_H_
#define DTNN_OPTIM_METRICS_LABEL_COUNTS_H_

#include <cstdint>
#include <span>

#include "optim/metrics/metric.h"

namespace dtnn {

struct LabelCounts {
  double true_positives = 0, false_negatives = 0, false_positives = 0, true_negatives = 0;

  double Precision() const { return Quotient(true_positives, true_positives + false_positives); }
  double Recall() const { return Quotient(true_positives, true_positives + false_negatives); }
  double F1() const {
    return Quotient(2 * true_positives, 2 * true_positives + false_positives + false_negatives);
  }
  // The samples that are both predicted and true among those that are either.
  double IntersectionOverUnion() const {
    return Quotient(true_positives, true_positives + false_positives + false_negatives);
  }
  // Samples that have the label.
  double Count() const { return true_positives + false_negatives; }
  // Whether it is true or predicted of any.
  bool Occurs() const { return Count() + false_positives > 0; }

 private:
  static double Quotient(double numerator, double denominator) {
    return denominator == 0 ? 0 : numerator / denominator;
  }
};

// A metric whose sums are four counts per label. Its value is the mean of one of the quotients
// above over the labels that occur (0 where none does); without one, the share of all decisions
// that are right.
class LabelMetric : public Metric {
 public:
  std::string_view name() const override { return name_; }
  Better better() const override { return Better::kLarger; }
  bool TakesClasses() const override { return true; }
  bool TakesValues() const override { return true; }
  int64_t sums(int64_t outputs) const override { return 4 * outputs; }
  void Add(const Tensor& predictions, const Tensor& targets, std::span<double> sums) const override;
  double Value(std::span<const double> sums, int64_t samples) const override;
  std::string Format(std::string_view prefix, double value) const override;

 protected:
  using Quotient = double (LabelCounts::*)() const;

  // `label`: in progress lines; empty for metrics that are more than a number.
  LabelMetric(std::string_view name, std::string_view label, Quotient quotient = nullptr)
      : name_(name), label_(label), quotient_(quotient) {}
  static int64_t Labels(std::span<const double> sums) { return int64_t(sums.size()) / 4; }
  static LabelCounts Of(std::span<const double> sums, int64_t label);
  static double Macro(std::span<const double> sums, Quotient quotient);

 private:
  const std::string_view name_, label_;
  const Quotient quotient_;
};

}  // namespace dtnn

#endif  // DTNN_OPTIM_METRICS_LABEL_COUNTS_H_
