// The metrics of the last epoch, by name, for the files of models.

#ifndef DTNN_MODELS_CALLBACKS_LAST_METRICS_H_
#define DTNN_MODELS_CALLBACKS_LAST_METRICS_H_

#include <utility>

#include "absl/status/status.h"
#include "models/training/callback.h"

namespace dtnn {

class LastMetrics : public Callback {
 public:
  absl::Status OnEpochEnd(const Pass& training, const Pass* validation) override {
    values_ = MetricsOf(training, validation);
    return absl::OkStatus();
  }

  // Metrics of the epoch before the first one, where a run is resumed.
  void Begin(NamedMetrics values) { values_ = std::move(values); }

  // Empty before the first epoch has ended.
  const NamedMetrics& values() const { return values_; }

 private:
  NamedMetrics values_;
};

}  // namespace dtnn

#endif  // DTNN_MODELS_CALLBACKS_LAST_METRICS_H_
