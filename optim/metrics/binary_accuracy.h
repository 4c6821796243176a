// The percentage of all decisions about labels, each taken by itself, that are right; see
// label_counts.h. Where most labels are mostly false it is near 100 even for a network that denies
// them all: f1_score beside it tells.

#ifndef DTNN_OPTIM_METRICS_BINARY_ACCURACY_H_
#define DTNN_OPTIM_METRICS_BINARY_ACCURACY_H_

#include "optim/metrics/label_counts.h"

namespace dtnn {

class BinaryAccuracy : public LabelMetric {
 public:
  std::string_view name() const override { return "binary_accuracy"; }
  double Value(std::span<const double> sums, int64_t /*samples*/) const override {
    return 100 * ShareRight(sums);
  }
  std::string Format(std::string_view prefix, double value) const override;
};

}  // namespace dtnn

#endif  // DTNN_OPTIM_METRICS_BINARY_ACCURACY_H_
