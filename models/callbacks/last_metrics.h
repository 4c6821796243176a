// The metrics of the last epoch, by name, for the files of models.

#ifndef DTNN_MODELS_CALLBACKS_LAST_METRICS_H_
#define DTNN_MODELS_CALLBACKS_LAST_METRICS_H_

#include "absl/status/status.h"
#include "models/training/callback.h"

namespace dtnn {

class LastMetrics : public Callback {
 public:
  absl::Status OnEpochEnd(const Pass& training, const Pass* validation) override {
    values_ = MetricsOf(training, validation);
    return absl::OkStatus();
  }

  // Empty before the first epoch has ended.
  const NamedMetrics& values() const { return values_; }

 private:
  NamedMetrics values_;
};

}  // namespace dtnn

#endif  // DTNN_MODELS_CALLBACKS_LAST_METRICS_H_
