#include "optim/metrics/per_class_report.h"

#include "absl/strings/str_format.h"
#include "optim/metrics/label_names.h"

namespace dtnn {

std::string PerClassReport::Report(std::string_view prefix, std::span<const double> sums,
                                   std::span<const std::string> class_names) const {
  const size_t labels = size_t(Labels(sums));
  std::vector<std::string> first = LabelNames(int64_t(labels), class_names);  // column
  first.insert(first.end(), {"class", "mean"});
  AlignRight(first, 5);
  std::string text = absl::StrFormat("%s%s:\n%s  precision  recall      f1    count\n",
                                     std::string(prefix), std::string(name()), first[labels]);
  double all = 0;
  for (size_t label = 0; label < labels; ++label) {
    const LabelCounts counts = Of(sums, int64_t(label));
    all += counts.Count();
    if (counts.Occurs()) {
      absl::StrAppendFormat(&text, "%s     %.4f  %.4f  %.4f  %7.0f\n", first[label],
                            counts.Precision(), counts.Recall(), counts.F1(), counts.Count());
    } else {
      absl::StrAppendFormat(&text, "%s          -       -       -        0\n", first[label]);
    }
  }
  absl::StrAppendFormat(&text, "%s     %.4f  %.4f  %.4f  %7.0f\n", first[labels + 1],
                        Macro(sums, &LabelCounts::Precision), Macro(sums, &LabelCounts::Recall),
                        Macro(sums, &LabelCounts::F1), all);
  return text;
}

}  // namespace dtnn
