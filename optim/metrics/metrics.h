// All metrics by the names that --metrics knows.

#ifndef DTNN_OPTIM_METRICS_METRICS_H_
#define DTNN_OPTIM_METRICS_METRICS_H_

#include <memory>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "optim/metrics/metric.h"

namespace dtnn {

// In the order in which they are documented.
std::vector<std::string_view> MetricNames();
// NotFound, listing the names, for another one.
absl::StatusOr<std::shared_ptr<const Metric>> MakeMetric(std::string_view name);

}  // namespace dtnn

#endif  // DTNN_OPTIM_METRICS_METRICS_H_
