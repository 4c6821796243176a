#include "optim/metrics/binary_confusion_matrix.h"

#include "absl/strings/str_format.h"

namespace dtnn {

std::string BinaryConfusionMatrix::Report(std::string_view prefix,
                                          std::span<const double> sums) const {
  std::string text = absl::StrFormat("%s%s:\n", std::string(prefix), std::string(name()));
  for (int64_t label = 0; label < Labels(sums); ++label) {
    const LabelCounts counts = Of(sums, label);
    absl::StrAppendFormat(&text, "%5d: [[%.0f %.0f] [%.0f %.0f]]\n", label, counts.true_positives,
                          counts.false_negatives, counts.false_positives, counts.true_negatives);
  }
  return text;
}

}  // namespace dtnn
