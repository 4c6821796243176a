#include "optim/metrics/per_class_report.h"

#include "absl/strings/str_format.h"

namespace dtnn {

std::string PerClassReport::Report(std::string_view prefix, std::span<const double> sums) const {
  std::string text = absl::StrFormat("%s%s:\nclass  precision  recall      f1    count\n",
                                     std::string(prefix), std::string(name()));
  double all = 0;
  for (int64_t label = 0; label < Labels(sums); ++label) {
    const LabelCounts counts = Of(sums, label);
    absl::StrAppendFormat(&text, "%5d     %.4f  %.4f  %.4f  %7.0f\n", label, counts.Precision(),
                          counts.Recall(), counts.F1(), counts.Count());
    all += counts.Count();
  }
  absl::StrAppendFormat(&text, " mean     %.4f  %.4f  %.4f  %7.0f\n",
                        Macro(sums, &LabelCounts::Precision), Macro(sums, &LabelCounts::Recall),
                        Macro(sums, &LabelCounts::F1), all);
  return text;
}

}  // namespace dtnn
