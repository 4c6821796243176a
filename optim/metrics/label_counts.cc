#include "optim/metrics/label_counts.h"

#include <algorithm>

#include "absl/strings/str_format.h"
#include "optim/losses/targets.h"

namespace dtnn {

void LabelMetric::Add(const Tensor& predictions, const Tensor& targets,
                      std::span<double> sums) const {
  DispatchFloating(predictions.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const int64_t outputs = predictions.shape()[1];
    const TargetRows<T> rows(targets);
    for (int64_t i = 0; i < predictions.shape()[0]; ++i) {
      const T* p = predictions.data<T>() + i * predictions.RowPitch();
      const int64_t largest = std::max_element(p, p + outputs) - p;
      for (int64_t j = 0; j < outputs; ++j) {
        const bool predicted = rows.are_classes() ? j == largest : p[j] >= T(0.5);
        const bool is_true = rows.At(i, j) >= 0.5;
        const size_t count = is_true ? (predicted ? 0 : 1) : (predicted ? 2 : 3);
        sums[size_t(j) * 4 + count] += 1;
      }
    }
  });
}

LabelCounts LabelMetric::Of(std::span<const double> sums, int64_t label) {
  const std::span<const double> counts = sums.subspan(size_t(label) * 4, 4);
  return {.true_positives = counts[0],
          .false_negatives = counts[1],
          .false_positives = counts[2],
          .true_negatives = counts[3]};
}

double LabelMetric::Value(std::span<const double> sums, int64_t /*samples*/) const {
  if (quotient_ != nullptr) return Macro(sums, quotient_);
  double right = 0, all = 0;
  for (int64_t label = 0; label < Labels(sums); ++label) {
    const LabelCounts counts = Of(sums, label);
    right += counts.true_positives + counts.true_negatives;
    all += counts.true_positives + counts.true_negatives + counts.false_positives +
           counts.false_negatives;
  }
  return right / all;
}

std::string LabelMetric::Format(std::string_view prefix, double value) const {
  if (label_.empty()) return "";
  return absl::StrFormat("%s%s: %.4f", std::string(prefix), std::string(label_), value);
}

double LabelMetric::Macro(std::span<const double> sums, Quotient quotient) {
  double sum = 0, occur = 0;
  for (int64_t label = 0; label < Labels(sums); ++label) {
    const LabelCounts counts = Of(sums, label);
    if (!counts.Occurs()) continue;
    sum += (counts.*quotient)();
    occur += 1;
  }
  return occur == 0 ? 0 : sum / occur;
}

}  // namespace dtnn
