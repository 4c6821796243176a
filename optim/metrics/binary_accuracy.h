// The percentage of all decisions about labels, each taken by itself, that are right; see
// label_counts.h. Where most labels are mostly false it is near 100 even for a network that denies
// them all: f1_score beside it tells.

#ifndef DTNN_OPTIM_METRICS_BINARY_ACCURACY_H_
#define DTNN_OPTIM_METRICS_BINARY_ACCURACY_H_

#include <string>

#include "absl/strings/str_format.h"
#include "optim/metrics/label_counts.h"

namespace dtnn {

class BinaryAccuracy : public LabelMetric {
 public:
  BinaryAccuracy() : LabelMetric("binary_accuracy", "acc") {}
  double Value(std::span<const double> sums, int64_t samples) const override {
    return 100 * LabelMetric::Value(sums, samples);
  }
  std::string Format(std::string_view prefix, double value) const override {
    return absl::StrFormat("%sacc: %5.2f%%", std::string(prefix), value);
  }
};

}  // namespace dtnn

#endif  // DTNN_OPTIM_METRICS_BINARY_ACCURACY_H_
