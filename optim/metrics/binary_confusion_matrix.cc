#include "optim/metrics/binary_confusion_matrix.h"

#include "absl/strings/str_format.h"
#include "optim/metrics/label_names.h"

namespace dtnn {

std::string BinaryConfusionMatrix::Report(std::string_view prefix, std::span<const double> sums,
                                          std::span<const std::string> class_names) const {
  std::vector<std::string> names = LabelNames(Labels(sums), class_names);
  AlignRight(names, 5);
  std::string text = absl::StrFormat("%s%s:\n", std::string(prefix), std::string(name()));
  for (int64_t label = 0; label < Labels(sums); ++label) {
    const LabelCounts counts = Of(sums, label);
    absl::StrAppendFormat(&text, "%s: [[%.0f %.0f] [%.0f %.0f]]\n", names[size_t(label)],
                          counts.true_positives, counts.false_negatives, counts.false_positives,
                          counts.true_negatives);
  }
  return text;
}

}  // namespace dtnn
