#include "apps/serve/metrics.h"

#include <algorithm>

#include "tensor/text/json_text.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

// Texts of labels are escaped as JSON's are, but for control characters, which are escaped more.
std::string Label(std::string_view text) { return JsonText(text); }

std::string Head(std::string_view name, std::string_view type, std::string_view help) {
  return StrCat("# HELP ", name, " ", help, "\n# TYPE ", name, " ", type, "\n");
}

}  // namespace

void Metrics::CountRequest(std::string_view model, int code) {
  const std::lock_guard lock(mutex_);
  ++requests_[{std::string(model), code}];
}

void Metrics::CountPrediction(std::string_view model, double seconds) {
  const std::lock_guard lock(mutex_);
  Add(seconds_[std::string(model)], kSeconds, seconds);
}

void Metrics::CountBatch(std::string_view model, int64_t samples) {
  const std::lock_guard lock(mutex_);
  Add(samples_[std::string(model)], kSamples, double(samples));
}

void Metrics::CountReload(std::string_view model, bool loaded) {
  const std::lock_guard lock(mutex_);
  ++reloads_[{std::string(model), loaded}];
}

template <size_t kBounds>
void Metrics::Add(Histogram<kBounds>& histogram, const double (&bounds)[kBounds], double value) {
  ++histogram.counts[size_t(std::ranges::lower_bound(bounds, value) - bounds)];
  histogram.sum += value;
}

template <size_t kBounds>
std::string Metrics::Lines(std::string_view name, std::string_view model,
                           const Histogram<kBounds>& histogram, const double (&bounds)[kBounds]) {
  std::string lines;
  int64_t count = 0;
  for (size_t i = 0; i <= kBounds; ++i) {
    count += histogram.counts[i];
    lines += StrCat(name, "_bucket{model=", Label(model), ",le=\"",
                    i < kBounds ? JsonNumber(bounds[i]) : "+Inf", "\"} ", count, "\n");
  }
  return lines + StrCat(name, "_sum{model=", Label(model), "} ", JsonNumber(histogram.sum), "\n",
                        name, "_count{model=", Label(model), "} ", count, "\n");
}

std::string Metrics::Text(std::span<const ModelState> models) const {
  const std::lock_guard lock(mutex_);
  std::string text = Head("dtnn_requests_total", "counter",
                          "Answers, by model (empty: of none) and code of HTTP.");
  for (const auto& [key, count] : requests_) {
    text += StrCat("dtnn_requests_total{model=", Label(key.first), ",code=\"", key.second, "\"} ",
                   count, "\n");
  }
  text += Head("dtnn_request_seconds", "histogram",
               "Time from the headers of a request to its answer, of predictions.");
  for (const auto& [model, histogram] : seconds_) {
    text += Lines("dtnn_request_seconds", model, histogram, kSeconds);
  }
  text += Head("dtnn_batch_samples", "histogram", "Samples that were computed together.");
  for (const auto& [model, histogram] : samples_) {
    text += Lines("dtnn_batch_samples", model, histogram, kSamples);
  }
  text += Head("dtnn_queued_samples", "gauge", "Samples that wait for a batch.");
  for (const ModelState& model : models) {
    text += StrCat("dtnn_queued_samples{model=", Label(model.name), "} ", model.queued, "\n");
  }
  text += Head("dtnn_model_version", "gauge", "How often the model's file was loaded.");
  for (const ModelState& model : models) {
    text += StrCat("dtnn_model_version{model=", Label(model.name), "} ", model.version, "\n");
  }
  text += Head("dtnn_reloads_total", "counter",
               "Signals to load a model again, by whether that succeeded.");
  for (const auto& [key, count] : reloads_) {
    text += StrCat("dtnn_reloads_total{model=", Label(key.first), ",result=\"",
                   key.second ? "loaded" : "failed", "\"} ", count, "\n");
  }
  return text;
}

}  // namespace dtnn
