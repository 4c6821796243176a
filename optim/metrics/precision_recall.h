// Precision TP / (TP + FP), recall TP / (TP + FN) and F1 score, their harmonic mean, each averaged
// over the labels that occur (macro average); see label_counts.h.

#ifndef DTNN_OPTIM_METRICS_PRECISION_RECALL_H_
#define DTNN_OPTIM_METRICS_PRECISION_RECALL_H_

#include "optim/metrics/label_counts.h"

namespace dtnn {

class Precision : public LabelMetric {
 public:
  Precision() : LabelMetric("precision", "prec", &LabelCounts::Precision) {}
};

class Recall : public LabelMetric {
 public:
  Recall() : LabelMetric("recall", "rec", &LabelCounts::Recall) {}
};

class F1Score : public LabelMetric {
 public:
  F1Score() : LabelMetric("f1_score", "f1", &LabelCounts::F1) {}
};

}  // namespace dtnn

#endif  // DTNN_OPTIM_METRICS_PRECISION_RECALL_H_
