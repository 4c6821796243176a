// What every program tells of itself, under the names that Prometheus' own programs use.

#ifndef DTNN_APPS_MONITOR_PROCESS_METRICS_H_
#define DTNN_APPS_MONITOR_PROCESS_METRICS_H_

#include "apps/monitor/metrics_text.h"

namespace dtnn {

// Memory, processor time and the version.
void AddProcess(MetricsText& text);

}  // namespace dtnn

#endif  // DTNN_APPS_MONITOR_PROCESS_METRICS_H_
