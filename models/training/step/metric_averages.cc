#include "models/training/step/metric_averages.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_format.h"
#include "optim/metrics/pixel_rows.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

// "mse" of "mse: 0.5000000"; empty for metrics that are more than a number.
std::string Label(const std::string& text) { return text.substr(0, text.find(':')); }

}  // namespace

std::vector<std::string> MetricSet::Names() const {
  std::vector<std::string> names = {std::string(loss->name())};
  for (const auto& metric : metrics) names.emplace_back(metric->name());
  return names;
}

std::optional<Better> MetricSet::FindBetter(std::string_view name) const {
  if (name.starts_with("val_")) name.remove_prefix(4);
  if (name == loss->name()) return loss->better();
  for (const auto& metric : metrics) {
    if (name == metric->name()) return metric->better();
  }
  return std::nullopt;
}

MetricAverages::MetricAverages(const MetricSet& metric_set, int64_t outputs,
                               std::optional<TensorFormat> format)
    : metric_set_(metric_set), begins_{1}, format_(format) {
  for (const auto& metric : metric_set.metrics) {
    begins_.push_back(begins_.back() + size_t(metric->sums(outputs)));
  }
  sums_.assign(begins_.back() + (format ? 1 : 0), 0.0);
  std::vector<std::string> labels = {std::string(metric_set.loss->label())};
  for (const auto& metric : metric_set.metrics) labels.push_back(Label(metric->Format("", 0)));
  for (size_t i = 1; i < labels.size(); ++i) {
    in_full_.push_back(std::ranges::count(labels, labels[i]) > 1);
  }
}

absl::Status MetricAverages::Add(double loss_sum, const Tensor& predictions,
                                 const Tensor& targets) {
  const bool classes = targets.dtype() == DType::kInt32;
  for (const auto& metric : metric_set_.metrics) {
    if (classes ? metric->TakesClasses() : metric->TakesValues()) continue;
    return InvalidArgument("metric ", metric->name(), " is not defined for targets that are ",
                           classes ? "classes: it needs values" : "values: it needs classes");
  }
  if (format_) {
    DTNN_ASSIGN_OR_RETURN(const PixelRows pixels, LabelledPixels(predictions, targets, *format_));
    if (pixels.count > 0) AddRows(pixels.predictions, pixels.targets);
    sums_.back() += double(pixels.count);
  } else {
    AddRows(predictions, targets);
  }
  sums_[0] += loss_sum;
  samples_ += predictions.shape()[0];
  return absl::OkStatus();
}

void MetricAverages::AddRows(const Tensor& predictions, const Tensor& targets) {
  for (size_t i = 0; i < metric_set_.metrics.size(); ++i) {
    metric_set_.metrics[i]->Add(predictions, targets,
                                std::span(sums_).subspan(begins_[i], begins_[i + 1] - begins_[i]));
  }
}

double MetricAverages::Value(size_t index) const {
  if (index == 0) return sums_[0] / double(samples_);
  if (format_ && rows() == 0) return std::numeric_limits<double>::quiet_NaN();
  return metric_set_.metrics[index - 1]->Value(SumsOf(index - 1), rows());
}

NamedMetrics MetricAverages::Values(std::string_view prefix) const {
  NamedMetrics values;
  for (const std::string& name : metric_set_.Names()) {
    values.emplace_back(StrCat(prefix, name), Value(values.size()));
  }
  return values;
}

double MetricAverages::operator[](std::string_view name) const {
  for (const auto& [known, value] : Values()) {
    if (known == name) return value;
  }
  return std::numeric_limits<double>::quiet_NaN();
}

std::string MetricAverages::Format(std::string_view prefix) const {
  std::string text = absl::StrFormat("%s%s: %.7f", std::string(prefix),
                                     std::string(metric_set_.loss->label()), Value(0));
  if (format_ && rows() == 0) return text + ", no labelled pixel";
  for (size_t i = 0; i < metric_set_.metrics.size(); ++i) {
    const Metric& metric = *metric_set_.metrics[i];
    const std::string value = metric.Format(prefix, Value(1 + i));
    if (value.empty()) continue;
    text += ", ";
    if (in_full_[i]) {
      StrAppend(&text, prefix, metric.name(), value.substr(value.find(':')));
    } else {
      text += value;
    }
  }
  return text;
}

std::string MetricAverages::Report(std::string_view prefix) const {
  std::string text;
  if (format_ && rows() == 0) return text;
  std::span<const std::string> names;
  if (metric_set_.class_names != nullptr) names = *metric_set_.class_names;
  for (size_t i = 0; i < metric_set_.metrics.size(); ++i) {
    text += metric_set_.metrics[i]->Report(prefix, SumsOf(i), names);
  }
  return text;
}

void MetricAverages::Add(const MetricAverages& other) {
  for (size_t i = 0; i < sums_.size(); ++i) sums_[i] += other.sums_[i];
  samples_ += other.samples_;
}

std::vector<double> MetricAverages::ToDoubles() const {
  std::vector<double> values = sums_;
  values.push_back(double(samples_));
  return values;
}

void MetricAverages::FromDoubles(std::span<const double> values) {
  sums_.assign(values.begin(), values.end() - 1);
  samples_ = int64_t(values.back());
}

}  // namespace dtnn
