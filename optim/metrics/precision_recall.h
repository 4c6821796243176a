// Precision TP / (TP + FP), recall TP / (TP + FN) and F1 score, their harmonic mean, each averaged
// over the labels (macro average); see label_counts.h.

#ifndef DTNN_OPTIM_METRICS_PRECISION_RECALL_H_
#define DTNN_OPTIM_METRICS_PRECISION_RECALL_H_

#include "optim/metrics/label_counts.h"

namespace dtnn {

class Precision : public LabelMetric {
 public:
  std::string_view name() const override { return "precision"; }
  double Value(std::span<const double> sums, int64_t /*samples*/) const override {
    return Macro(sums, &LabelCounts::Precision);
  }
  std::string Format(std::string_view prefix, double value) const override;
};

class Recall : public LabelMetric {
 public:
  std::string_view name() const override { return "recall"; }
  double Value(std::span<const double> sums, int64_t /*samples*/) const override {
    return Macro(sums, &LabelCounts::Recall);
  }
  std::string Format(std::string_view prefix, double value) const override;
};

class F1Score : public LabelMetric {
 public:
  std::string_view name() const override { return "f1_score"; }
  double Value(std::span<const double> sums, int64_t /*samples*/) const override {
    return Macro(sums, &LabelCounts::F1);
  }
  std::string Format(std::string_view prefix, double value) const override;
};

}  // namespace dtnn

#endif  // DTNN_OPTIM_METRICS_PRECISION_RECALL_H_
