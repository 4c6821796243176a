// One 2x2 matrix per label, by name where that is known, [[TP FN] [FP TN]]; see label_counts.h. As
// a number: the share of all decisions that are right.

#ifndef DTNN_OPTIM_METRICS_BINARY_CONFUSION_MATRIX_H_
#define DTNN_OPTIM_METRICS_BINARY_CONFUSION_MATRIX_H_

#include "optim/metrics/label_counts.h"

namespace dtnn {

class BinaryConfusionMatrix : public LabelMetric {
 public:
  BinaryConfusionMatrix() : LabelMetric("binary_confusion_matrix", "") {}
  std::string Report(std::string_view prefix, std::span<const double> sums,
                     std::span<const std::string> class_names) const override;
};

}  // namespace dtnn

#endif  // DTNN_OPTIM_METRICS_BINARY_CONFUSION_MATRIX_H_
