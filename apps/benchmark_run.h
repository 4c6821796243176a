// The launcher's run: loads the data, builds the network, evaluates and trains as the options say,
// and prints the messages of README A's logs in their order.

#ifndef DTNN_APPS_BENCHMARK_RUN_H_
#define DTNN_APPS_BENCHMARK_RUN_H_

#include <ostream>

#include "absl/status/status.h"
#include "apps/flags/options.h"

namespace dtnn {

absl::Status RunBenchmark(const Options& options, std::ostream& out);

}  // namespace dtnn

#endif  // DTNN_APPS_BENCHMARK_RUN_H_
