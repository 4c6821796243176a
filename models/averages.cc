#include "models/averages.h"

#include "absl/strings/str_format.h"

namespace dtnn {

void Averages::Add(const Figures& figures, double loss_sum, const Tensor& predictions,
                   const Tensor& labels) {
  sums_[0] += loss_sum;
  for (size_t i = 0; i < figures.metrics.size(); ++i) {
    sums_[1 + i] += figures.metrics[i]->Sum(predictions, labels);
  }
  samples_ += labels.num_elements();
}

std::string Averages::Format(const Figures& figures, std::string_view prefix) const {
  std::string text = absl::StrFormat("%s%s: %.7f", std::string(prefix),
                                     std::string(figures.loss->label()), Mean(0));
  for (size_t i = 0; i < figures.metrics.size(); ++i) {
    text += ", " + figures.metrics[i]->Format(prefix, Mean(1 + i));
  }
  return text;
}

std::vector<double> Averages::ToDoubles() const {
  std::vector<double> values = sums_;
  values.push_back(double(samples_));
  return values;
}

void Averages::FromDoubles(std::span<const double> values) {
  sums_.assign(values.begin(), values.end() - 1);
  samples_ = int64_t(values.back());
}

}  // namespace dtnn
