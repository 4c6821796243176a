#include "apps/launcher/last_metrics.h"

#include <cstddef>

namespace dtnn {

absl::Status LastMetrics::OnEpochEnd(const Pass& training, const Pass* validation) {
  values_.clear();
  Add(training, "");
  if (validation != nullptr) Add(*validation, "val_");
  return absl::OkStatus();
}

void LastMetrics::Add(const Pass& pass, const std::string& prefix) {
  const std::vector<std::string> names = pass.averages->metric_set().Names();
  for (size_t i = 0; i < names.size(); ++i) {
    values_.emplace_back(prefix + names[i], pass.averages->Value(i));
  }
}

}  // namespace dtnn
