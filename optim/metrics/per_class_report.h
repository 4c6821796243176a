// A table with precision, recall, F1 score and number of samples of every class (or label), by name
// where that is known; see label_counts.h. One that does not occur has no values and counts in no
// mean. As a number: the macro average of the F1 scores.

#ifndef DTNN_OPTIM_METRICS_PER_CLASS_REPORT_H_
#define DTNN_OPTIM_METRICS_PER_CLASS_REPORT_H_

#include "optim/metrics/label_counts.h"

namespace dtnn {

class PerClassReport : public LabelMetric {
 public:
  PerClassReport() : LabelMetric("per_class_report", "", &LabelCounts::F1) {}
  std::string Report(std::string_view prefix, std::span<const double> sums,
                     std::span<const std::string> class_names) const override;
};

}  // namespace dtnn

#endif  // DTNN_OPTIM_METRICS_PER_CLASS_REPORT_H_
