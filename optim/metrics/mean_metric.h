// A metric that is the mean, over the samples, of one number each.

#ifndef DTNN_OPTIM_METRICS_MEAN_METRIC_H_
#define DTNN_OPTIM_METRICS_MEAN_METRIC_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "absl/strings/str_format.h"
#include "optim/losses/targets.h"
#include "optim/metrics/metric.h"

namespace dtnn {

struct MeanMetricSpec {
  std::string_view name, label;  // "categorical_accuracy"; "acc", in progress lines
  bool percentage = false;       // of samples, so larger is better; else an error
  bool takes_values = false;     // of targets, besides classes
};

// `Of` has `static constexpr MeanMetricSpec kSpec` and the number of sample i, whose predictions
// are p: `template <typename T> static double Sample(std::span<const T> p, const TargetRows<T>&
// targets, int64_t i)`.
template <class Of>
class MeanMetric : public Metric {
 public:
  std::string_view name() const override { return Of::kSpec.name; }
  Better better() const override {
    return Of::kSpec.percentage ? Better::kLarger : Better::kSmaller;
  }
  bool TakesClasses() const override { return true; }
  bool TakesValues() const override { return Of::kSpec.takes_values; }
  void Add(const Tensor& predictions, const Tensor& targets,
           std::span<double> sums) const override {
    DispatchFloating(predictions.dtype(), [&](auto zero) {
      using T = decltype(zero);
      const size_t outputs = size_t(predictions.shape()[1]);
      const TargetRows<T> rows(targets);
      for (int64_t i = 0; i < predictions.shape()[0]; ++i) {
        const T* p = predictions.data<T>() + i * predictions.RowPitch();
        sums[0] += Of::Sample(std::span<const T>(p, outputs), rows, i);
      }
    });
  }
  std::string Format(std::string_view prefix, double value) const override {
    const std::string label = std::string(prefix) + std::string(Of::kSpec.label);
    return Of::kSpec.percentage ? absl::StrFormat("%s: %5.2f%%", label, value)
                                : absl::StrFormat("%s: %.7f", label, value);
  }
};

}  // namespace dtnn

#endif  // DTNN_OPTIM_METRICS_MEAN_METRIC_H_
