// The metrics of the last epoch, by name, for the files of models.

#ifndef DTNN_APPS_LAUNCHER_LAST_METRICS_H_
#define DTNN_APPS_LAUNCHER_LAST_METRICS_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "models/training/callback.h"

namespace dtnn {

class LastMetrics : public Callback {
 public:
  absl::Status OnEpochEnd(const Pass& training, const Pass* validation) override;

  // Those of validation after "val_". Empty before the first epoch has ended.
  const std::vector<std::pair<std::string, double>>& values() const { return values_; }

 private:
  void Add(const Pass& pass, const std::string& prefix);

  std::vector<std::pair<std::string, double>> values_;
};

}  // namespace dtnn

#endif  // DTNN_APPS_LAUNCHER_LAST_METRICS_H_
