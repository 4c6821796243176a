// The launcher's run (models/run): what it says goes to streams, with flags instead of members of
// RunOptions, and its passes are shown as progress lines.

#ifndef DTNN_APPS_LAUNCHER_BENCHMARK_RUN_H_
#define DTNN_APPS_LAUNCHER_BENCHMARK_RUN_H_

#include <functional>
#include <ostream>

#include "absl/status/status.h"
#include "apps/flags/options.h"
#include "comm/launch_place.h"

namespace dtnn {

// Called by every process of the run (models/run/execute_on_ranks.h).
// `on_learning_rate`: RunObjects::on_learning_rate.
absl::Status RunBenchmark(const Options& options, const LaunchPlace& place,
                          const std::function<absl::Status(double rate)>& on_learning_rate,
                          std::ostream& out, std::ostream& err);

}  // namespace dtnn

#endif  // DTNN_APPS_LAUNCHER_BENCHMARK_RUN_H_
