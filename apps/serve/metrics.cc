#include "apps/serve/metrics.h"

#include "apps/monitor/metrics_text.h"
#include "apps/monitor/process_metrics.h"
#include "tensor/text/str_cat.h"

namespace dtnn {

void Metrics::CountRequest(std::string_view model, int code) {
  const std::lock_guard lock(mutex_);
  ++requests_[{std::string(model), code}];
}

void Metrics::CountPrediction(std::string_view model, double seconds) {
  const std::lock_guard lock(mutex_);
  seconds_.try_emplace(std::string(model), kSeconds).first->second.Add(seconds);
}

void Metrics::CountBatch(std::string_view model, int64_t samples) {
  const std::lock_guard lock(mutex_);
  samples_.try_emplace(std::string(model), kSamples).first->second.Add(double(samples));
}

void Metrics::CountReload(std::string_view model, bool loaded) {
  const std::lock_guard lock(mutex_);
  ++reloads_[{std::string(model), loaded}];
}

std::string Metrics::Text(std::span<const ModelState> models) const {
  const std::lock_guard lock(mutex_);
  MetricsText text;
  text.Family("dtnn_requests_total", "counter",
              "Answers, by model (empty: of none) and code of HTTP.");
  for (const auto& [key, count] : requests_) {
    text.Add({{"model", key.first}, {"code", StrCat(key.second)}}, count);
  }
  text.Family("dtnn_request_seconds", "histogram",
              "Time from the headers of a request to its answer, of predictions.");
  for (const auto& [model, histogram] : seconds_) text.Add({{"model", model}}, histogram);
  text.Family("dtnn_batch_samples", "histogram", "Samples that were computed together.");
  for (const auto& [model, histogram] : samples_) text.Add({{"model", model}}, histogram);
  text.Family("dtnn_queued_samples", "gauge", "Samples that wait for a batch.");
  for (const ModelState& model : models) text.Add({{"model", model.name}}, model.queued);
  text.Family("dtnn_model_version", "gauge", "How often the model's file was loaded.");
  for (const ModelState& model : models) text.Add({{"model", model.name}}, model.version);
  text.Family("dtnn_reloads_total", "counter",
              "Signals to load a model again, by whether that succeeded.");
  for (const auto& [key, count] : reloads_) {
    text.Add({{"model", key.first}, {"result", key.second ? "loaded" : "failed"}}, count);
  }
  AddProcess(text);
  return text.text();
}

}  // namespace dtnn
