// What a server of models counts, as Prometheus reads it (text format 0.0.4).

#ifndef DTNN_APPS_SERVE_METRICS_H_
#define DTNN_APPS_SERVE_METRICS_H_

#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "apps/monitor/histogram.h"

namespace dtnn {

class Metrics {
 public:
  // `model`: one that is served, or empty.
  void CountRequest(std::string_view model, int code);
  void CountPrediction(std::string_view model, double seconds);  // a request that has outputs
  void CountBatch(std::string_view model, int64_t samples);
  void CountReload(std::string_view model, bool loaded);

  // What is known at the moment of the text.
  struct ModelState {
    std::string_view name;
    int64_t version = 0, queued = 0;
  };
  std::string Text(std::span<const ModelState> models) const;

 private:
  static constexpr double kSeconds[] = {0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05,
                                        0.1,    0.2,   0.5,   1,     2,    5,    10};
  static constexpr double kSamples[] = {1, 2, 4, 8, 16, 32, 64, 128, 256};

  mutable std::mutex mutex_;
  std::map<std::pair<std::string, int>, int64_t> requests_;
  std::map<std::string, Histogram> seconds_, samples_;
  std::map<std::pair<std::string, bool>, int64_t> reloads_;
};

}  // namespace dtnn

#endif  // DTNN_APPS_SERVE_METRICS_H_
